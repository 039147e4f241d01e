"""Sequence classification with nn.TransformerEncoder: is the first token repeated later on?"""
import math
import torch
import torch.nn as nn

SEED = 101
torch.manual_seed(SEED)
VOCAB, LEN, D = 20, 12, 64


def make_data(n, g):
    x = torch.randint(1, VOCAB, (n, LEN), generator=g)
    first = x[:, :1]
    rest = x[:, 1:]
    rest = torch.where(rest == first, (rest % (VOCAB - 1)) + 1, rest)
    y = torch.randint(0, 2, (n,), generator=g)
    pos = torch.randint(0, LEN - 1, (n,), generator=g)
    planted = rest.clone()
    planted[torch.arange(n), pos] = x[:, 0]
    rest = torch.where(y[:, None] == 1, planted, rest)
    return torch.cat([first, rest], 1), y


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(pos * div)
        pe[0, :, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D)
        self.pos = PositionalEncoding(D)
        layer = nn.TransformerEncoderLayer(d_model=D, nhead=4, dim_feedforward=128, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.fc = nn.Linear(D, 2)

    def forward(self, x):
        h = self.pos(self.embed(x))
        h = self.encoder(h)
        return self.fc(h.mean(dim=1))


g = torch.Generator().manual_seed(SEED)
Xtr, ytr = make_data(4000, g)
Xte, yte = make_data(1000, g)
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(18):
    model.train()
    perm = torch.randperm(len(Xtr))
    tot = 0.0
    for i in range(0, len(perm), 64):
        b = perm[i:i + 64]
        loss = loss_fn(model(Xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    model.eval()
    with torch.no_grad():
        acc = (model(Xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch:2d} loss {tot / len(Xtr):.4f} test acc {acc:.3f}")
