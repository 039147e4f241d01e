import torch
import torch.nn as nn
import numpy as np
from sklearn.datasets import load_digits

# Siamese network with contrastive loss (Hadsell), digits
SEED = 20
np.random.seed(SEED)
torch.manual_seed(SEED)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = torch.tensor(d.target)
perm = torch.randperm(len(X))
tr, te = perm[:1300], perm[1300:]
by_class = [tr[y[tr] == c] for c in range(10)]


def pairs(n):
    a, b, same = [], [], []
    for k in range(n):
        c = np.random.randint(10)
        i = by_class[c][np.random.randint(len(by_class[c]))]
        if k % 2 == 0:
            j = by_class[c][np.random.randint(len(by_class[c]))]
        else:
            o = (c + np.random.randint(1, 10)) % 10
            j = by_class[o][np.random.randint(len(by_class[o]))]
        a.append(i); b.append(j); same.append(1.0 - k % 2)
    return torch.stack(a), torch.stack(b), torch.tensor(same)


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, x):
        return self.f(x)


def distance(u, v):
    return torch.sqrt(((u - v) ** 2).sum(1))


def contrastive(u, v, same, margin=1.0):
    dist = distance(u, v)
    return (same * dist ** 2 + (1 - same) * torch.clamp(margin - dist, min=0) ** 2).mean()


net = Embed()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(1500):
    i, j, same = pairs(64)
    loss = contrastive(net(X[i]), net(X[j]), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0:
        print("iter", it, "loss", round(loss.item(), 4))

with torch.no_grad():
    E = net(X)
    nn_idx = torch.cdist(E[te], E[tr]).argmin(1)
    acc = (y[tr][nn_idx] == y[te]).float().mean().item()
print("1-NN accuracy in embedding space: %.4f" % acc)
