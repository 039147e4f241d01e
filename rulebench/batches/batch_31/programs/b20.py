"""Sequence classification with nn.TransformerEncoder on variable-length token sequences."""
import math
import random
import torch
import torch.nn as nn

SEED = 0
random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

PAD, VOCAB, MAXLEN = 0, 16, 20


def example():
    """The first symbol is a key (1..6). Label: does the same key come again later on?"""
    n = random.randint(8, MAXLEN - 2)
    label = random.randint(0, 1)
    key = random.randint(1, 6)
    others = [k for k in range(1, 7) if k != key]
    toks = [key] + [random.choice(others) if random.random() < 0.3 else random.randint(7, VOCAB - 1) for _ in range(n - 1)]
    if label:
        for i in random.sample(range(1, n), 2):
            toks[i] = key
    return toks, label


def collate(items):
    x = torch.full((len(items), MAXLEN), PAD)
    for r, (toks, _) in enumerate(items):
        x[r, :len(toks)] = torch.tensor(toks)
    return x, torch.tensor([l for _, l in items])


class Classifier(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.pos = nn.Parameter(0.02 * torch.randn(MAXLEN, d))
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        mask = (x != PAD)                              # True for the real tokens
        h = self.emb(x) + self.pos
        h = self.enc(h, src_key_padding_mask=mask)
        m = mask.unsqueeze(-1).float()
        return self.out((h * m).sum(1) / m.sum(1))


train = [example() for _ in range(4000)]
val = collate([example() for _ in range(1000)])
model = Classifier()
print(sum(p.numel() for p in model.parameters()), "parameters")
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
ce = nn.CrossEntropyLoss()
for epoch in range(10):
    random.shuffle(train)
    model.train()
    total = 0
    for i in range(0, len(train), 50):
        x, y = collate(train[i:i + 50])
        loss = ce(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        logits = model(val[0])
        acc = (logits.argmax(1) == val[1]).float().mean().item()
    print(f"epoch {epoch+1}: train {total/80:.4f}, val {ce(logits, val[1]).item():.4f}, val acc {acc:.4f}")
print(f"accuracy on held-out sequences {acc:.4f}")
