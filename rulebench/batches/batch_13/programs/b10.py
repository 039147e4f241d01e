"""Toy sentiment: a sentence is positive when its last mood word is a good one."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
torch.manual_seed(0)

VOCAB, LEN = 40, 16
GOOD, BAD = [1, 2, 3], [4, 5, 6]

def make(n):
    x = rng.integers(7, VOCAB, size=(n, LEN))
    y = np.zeros(n, dtype=np.int64)
    for i in range(n):
        pos = sorted(rng.choice(LEN, size=3, replace=False))
        for p in pos:
            y[i] = rng.integers(0, 2)
            x[i, p] = rng.choice(GOOD if y[i] else BAD)
    return torch.tensor(x), torch.tensor(y)

xtr, ytr = make(2000)
xte, yte = make(500)

class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24)
        self.lstm = nn.LSTM(24, 32)
        self.fc = nn.Linear(32, 2)

    def forward(self, x):
        out, _ = self.lstm(self.emb(x))
        return self.fc(out[:, -1, :])

net = Sentiment()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(15):
    perm = torch.randperm(len(xtr))
    net.train()
    running = 0
    for i in range(0, len(xtr), 50):
        idx = perm[i:i + 50]
        opt.zero_grad()
        loss = loss_fn(net(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch} loss {running / (len(xtr) / 50):.4f} acc {acc:.3f}")
