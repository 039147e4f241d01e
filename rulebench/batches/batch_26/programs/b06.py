"""
Hi all, small transformer for sequence classification.
Label = whether the symbols A and B (both always occur once) are at most 4 places apart.
"""
import math
import torch
import torch.nn as nn

torch.manual_seed(42)
torch.set_num_threads(1)

VOCAB, LEN = 20, 16
A, B = 1, 2


def batch(n):
    x = torch.randint(3, VOCAB, (n, LEN))
    pos = torch.rand(n, LEN).argsort(1)[:, :2]
    x.scatter_(1, pos[:, :1], A)
    x.scatter_(1, pos[:, 1:], B)
    y = ((pos[:, 0] - pos[:, 1]).abs() <= 4).long()
    return x, y


class PositionalEncoding(nn.Module):
    def __init__(self, d, max_len=64):
        super().__init__()
        p = torch.arange(max_len)[:, None]
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(max_len, d)
        pe[:, 0::2] = torch.sin(p * div)
        pe[:, 1::2] = torch.cos(p * div)
        self.register_buffer("pe", pe)

    def forward(self, x):  # x: batch, len, dim
        return x + self.pe[: x.size(1)]


class Classifier(nn.Module):
    def __init__(self, d=32, heads=4, layers=2):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.pos = PositionalEncoding(d)
        layer = nn.TransformerEncoderLayer(d, heads, 64, dropout=0.0)
        self.enc = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        h = self.enc(self.pos(self.emb(x)))
        return self.head(h.mean(dim=1))


model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
xv, yv = batch(1000)

for step in range(1, 901):
    model.train()
    x, y = batch(64)
    loss = loss_fn(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(-1) == yv).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} val acc {acc:.3f}")

print("accuracy on 1000 fresh sequences:", round(acc, 3))
