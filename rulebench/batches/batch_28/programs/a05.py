# Intent classification of short commands with a tiny BERT trained from scratch
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

SEED = 21
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

VERBS = {0: ["play", "start", "resume"], 1: ["stop", "pause", "mute"], 2: ["call", "ring", "dial"],
         3: ["send", "write", "text"], 4: ["show", "open", "find"]}
NEG = ["do", "not"]
FILL = "please could you now the a my for me some quickly later today thanks hey ok just kindly".split()
NOUN = "song movie mom dad message mail photo map radio news video alarm".split()
words = ["[PAD]", "[CLS]", "[SEP]"] + sorted({w for v in VERBS.values() for w in v} | set(NEG) | set(FILL) | set(NOUN))
vocab = {w: i for i, w in enumerate(words)}


def sentence():
    c = int(rng.integers(0, 5))
    s = list(rng.choice(FILL, rng.integers(1, 5)))
    if rng.random() < 0.4:                      # "do not <verb> ... <verb>": the second verb counts
        other = int(rng.choice([k for k in range(5) if k != c]))
        s += NEG + [str(rng.choice(VERBS[other]))] + list(rng.choice(FILL, 1))
    s += [str(rng.choice(VERBS[c]))] + list(rng.choice(FILL, rng.integers(0, 3))) + [str(rng.choice(NOUN))]
    return s, c


class Commands(Dataset):
    def __init__(self, n):
        self.rows = [sentence() for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    ids = [[vocab["[CLS]"]] + [vocab[w] for w in s] + [vocab["[SEP]"]] for s, _ in rows]
    m = max(map(len, ids))
    return {"input_ids": torch.tensor([r + [0] * (m - len(r)) for r in ids]),
            "attention_mask": torch.tensor([[1] * len(r) + [0] * (m - len(r)) for r in ids]),
            "labels": torch.tensor([c for _, c in rows])}


train_dl = DataLoader(Commands(1600), batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(Commands(600), batch_size=100, collate_fn=collate)

model = BertForSequenceClassification(BertConfig(
    vocab_size=len(vocab), hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
    max_position_embeddings=40, num_labels=5))
epochs = 14
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
num_training_steps = len(train_dl)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=int(0.1 * num_training_steps),
                                            num_training_steps=num_training_steps)


def evaluate():
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for b in test_dl:
            p = model(**b).logits.argmax(-1)
            ok += (p == b["labels"]).sum().item()
            n += len(p)
    return ok / n


for epoch in range(epochs):
    model.train()
    running = 0.0
    for b in train_dl:
        loss = model(**b).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        running += loss.item()
    print(f"epoch {epoch + 1:2d}  train loss {running / len(train_dl):.4f}  test acc {evaluate():.3f}")
print("final test accuracy: %.4f" % evaluate())
