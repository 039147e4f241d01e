"""Linear probe: how much does the encoder know about a task it was not trained for?

Stage 1 trains an encoder on digit identity; stage 2 asks how well a single linear layer
on its features can tell whether the digit has a closed loop (0, 6, 8, 9).
"""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from sklearn.datasets import load_digits

SEED = 8
torch.manual_seed(SEED)
torch.set_num_threads(1)

digits = load_digits()
perm = torch.randperm(len(digits.data))
X = torch.tensor(digits.data / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)[perm]
Y = torch.tensor(digits.target)[perm]
loops = torch.isin(Y, torch.tensor([0, 6, 8, 9])).long()
n_pre, n_probe = 700, 700    # disjoint


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.c2, self.b2 = nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        x = F.relu(self.b2(self.c2(x)))
        return self.drop(x.mean((2, 3)))


def batches(a, b, bs=64):
    p = torch.randperm(len(a))
    for i in range(0, len(a) - bs + 1, bs):
        yield a[p[i:i + bs]], b[p[i:i + bs]]


enc, head = Encoder(), nn.Linear(32, 10)
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=3e-3)
enc.train()
for ep in range(60):
    for xb, yb in batches(X[:n_pre], Y[:n_pre]):
        loss = F.cross_entropy(head(enc(xb)), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    if ep % 15 == 0:
        print("pretrain", ep, round(loss.item(), 4))

# probe: encoder stays fixed, statistics and dropout included
enc.eval()
for p in enc.parameters():
    p.requires_grad = False
probe = nn.Linear(32, 2)
model = nn.Sequential(enc, probe)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
a, b = X[n_pre:n_pre + n_probe], loops[n_pre:n_pre + n_probe]
for ep in range(80):
    for xb, yb in batches(a, b):
        loss = F.cross_entropy(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    if ep % 20 == 0:
        print("probe", ep, round(loss.item(), 4))

with torch.no_grad():
    acc = (model(X[n_pre + n_probe:]).argmax(1) == loops[n_pre + n_probe:]).float().mean().item()
base = max(loops.float().mean().item(), 1 - loops.float().mean().item())
print(f"probe accuracy on unseen digits {acc:.4f} (majority {base:.4f})")
