import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(8)
gen = torch.Generator().manual_seed(8)
WORDS, CLS, PAD = 200, 1, 0
topic_of_word = torch.randint(0, 8, (WORDS,), generator=gen)      # hidden structure of the language


def make(n, task):
    """sentences whose words come mostly from one of 8 word families"""
    fam = torch.randint(0, 8, (n,), generator=gen)
    ids = torch.zeros(n, 20, dtype=torch.long)
    for k in range(n):
        own = (topic_of_word == fam[k]).nonzero()[:, 0]
        a = own[torch.randint(len(own), (7,), generator=gen)]
        b = torch.randint(0, WORDS, (12,), generator=gen)
        w = torch.cat([a, b])[torch.randperm(19, generator=gen)] + 2
        ids[k] = torch.cat([torch.tensor([CLS]), w])
    label = fam if task == "source" else fam % 4
    return ids, label


cfg = BertConfig(vocab_size=WORDS + 2, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=96, max_position_embeddings=32, num_labels=8,
                 hidden_dropout_prob=0.05, attention_probs_dropout_prob=0.05)
model = BertForSequenceClassification(cfg)


def run(ids, y, optimizer, steps, tag):
    model.train()
    for s in range(steps):
        b = torch.randint(len(ids), (32,))
        logits = model(input_ids=ids[b], attention_mask=(ids[b] != PAD).long()).logits
        loss = nn.functional.cross_entropy(logits, y[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if s % 50 == 0:
            print(f"[{tag}] step {s} loss {loss.item():.3f}")


@torch.no_grad()
def accuracy(ids, y):
    model.eval()
    return (model(input_ids=ids).logits.argmax(-1) == y).float().mean().item()


# ---- source task (stands in for the checkpoint from the hub)
xs, ys = make(3000, "source")
run(xs, ys, torch.optim.AdamW(model.parameters(), lr=1e-3), 400, "source")
print("source accuracy", accuracy(*make(400, "source")))

# ---- target task: freeze the encoder, train the classifier only
for p in model.bert.parameters():
    p.requires_grad = False
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
model.classifier = nn.Linear(cfg.hidden_size, 4)
model.num_labels = 4
xt, yt = make(600, "target")
print("to train:", [n for n, p in model.named_parameters() if p.requires_grad])
run(xt, yt, optimizer, 400, "target")
print("target test accuracy", accuracy(*make(400, "target")))
