# Siamese network with the contrastive loss of Hadsell et al.
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(30)
np.random.seed(30)
torch.set_num_threads(1)
digits = load_digits()
X = torch.tensor(digits.images / 16.0, dtype=torch.float32).flatten(1)
y = digits.target
order = np.random.permutation(len(X))
tr, te = order[:1400], order[1400:]
by_class = {c: tr[y[tr] == c] for c in range(10)}


def get_batch(n=32):
    a, b, same = [], [], []
    for k in range(n):
        i = np.random.choice(tr)
        if k % 2 == 0:
            j = np.random.choice(by_class[y[i]])
        else:
            j = np.random.choice(tr[y[tr] != y[i]])
        a.append(i), b.append(j), same.append(float(k % 2 == 0))
    return X[a], X[b], torch.tensor(same)


class SiameseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return self.encoder(x)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, e1, e2, same):
        dist = torch.sqrt(torch.sum((e1 - e2) ** 2, dim=1))
        pull = same * dist ** 2
        push = (1 - same) * torch.clamp(self.margin - dist, min=0) ** 2
        return torch.mean(pull + push)


def knn_accuracy(net):
    with torch.no_grad():
        d = torch.cdist(net(X[te]), net(X[tr]))
    return float(np.mean(y[tr][d.argmin(1).numpy()] == y[te]))


net, criterion = SiameseNet(), ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(1, 801):
    x1, x2, same = get_batch()
    loss = criterion(net(x1), net(x2), same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 100 == 0 or it in (1, 10, 50):
        print(f"iter {it:4d} loss {loss.item():.4f}")
print("1-nn accuracy:", knn_accuracy(net))
