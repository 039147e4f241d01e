# Pre-train on digits 0-4, then only fit a new head for 5-9 (backbone frozen, in eval mode).
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(55)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)


def split(mask):
    i = torch.nonzero(mask).ravel()
    i = i[torch.randperm(len(i))]
    n = int(0.8 * len(i))
    return i[:n], i[n:]


def accuracy(net, idx, off=0):
    net.eval()
    with torch.no_grad():
        return (net(X[idx]).argmax(1) + off == y[idx]).float().mean().item()


backbone = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU())
source = nn.Sequential(backbone, nn.Linear(64, 5))
tr, te = split(y < 5)
opt = torch.optim.Adam(source.parameters(), lr=2e-3)
for epoch in range(12):
    source.train()
    for b in tr[torch.randperm(len(tr))].split(32):
        if len(b) < 2:
            continue
        loss = nn.functional.cross_entropy(source(X[b]), y[b])
        opt.zero_grad(); loss.backward(); opt.step()
    if epoch % 3 == 0:
        print("pretrain", epoch, round(loss.item(), 4), "acc", round(accuracy(source, te), 3))

for p in backbone.parameters():
    p.requires_grad_(False)
head = nn.Linear(64, 5)
target = nn.Sequential(backbone, head)
tr, te = split(y >= 5)
opt = torch.optim.Adam(head.parameters(), lr=5e-3)
for epoch in range(25):
    head.train()
    backbone.eval()
    for b in tr[torch.randperm(len(tr))].split(32):
        loss = nn.functional.cross_entropy(target(X[b]), y[b] - 5)
        opt.zero_grad(); loss.backward(); opt.step()
    if epoch % 5 == 0 or epoch == 24:
        print("transfer", epoch, round(loss.item(), 4), "acc", round(accuracy(target, te, 5), 3))
