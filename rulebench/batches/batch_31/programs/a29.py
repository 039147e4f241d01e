"""Sentiment of short reviews with a tiny DistilBERT trained from scratch."""
import random
import torch
from torch.utils.data import DataLoader
from transformers import DistilBertConfig, DistilBertForSequenceClassification

SEED = 2
random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

POS = ["good", "great", "lovely", "fast", "tasty", "friendly"]
NEG = ["bad", "awful", "slow", "cold", "rude", "noisy"]
FILL = ["the", "food", "was", "and", "service", "place", "we", "came", "on", "monday", "with", "kids"]
vocab = ["[PAD]", "[CLS]", "[SEP]", "not", "really"] + POS + NEG + FILL
tok = {w: i for i, w in enumerate(vocab)}


def review():
    y = random.randint(0, 1)
    words = random.choices(FILL, k=random.randint(4, 12))
    for _ in range(random.choice([1, 1, 2])):
        if random.random() < 0.4:
            phrase = ["not", random.choice(NEG if y else POS)]
        else:
            phrase = (["really"] if random.random() < 0.3 else []) + [random.choice(POS if y else NEG)]
        k = random.randrange(len(words) + 1)
        while k > 0 and words[k - 1] in ("not", "really"):
            k -= 1
        words[k:k] = phrase
    return words, y


def collate(batch):
    rows = [[tok["[CLS]"]] + [tok[w] for w in ws] + [tok["[SEP]"]] for ws, _ in batch]
    m = max(map(len, rows))
    ids = torch.tensor([r + [0] * (m - len(r)) for r in rows])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([y for _, y in batch])}


train, test = [review() for _ in range(3000)], [review() for _ in range(600)]
train_dl = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(test, batch_size=100, collate_fn=collate)

model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=len(vocab), dim=64, hidden_dim=128, n_layers=2, n_heads=4, max_position_embeddings=32, num_labels=2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
EPOCHS = 6
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=EPOCHS * len(train_dl))

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for batch in train_dl:
        out = model(**batch)
        optimizer.zero_grad()
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        total += out.loss.item()
    model.eval()
    ok = 0
    with torch.no_grad():
        for batch in test_dl:
            ok += (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
    print(f"epoch {epoch} loss {total / len(train_dl):.4f} test accuracy {ok / len(test):.4f}")
print("final test accuracy:", ok / len(test))
