# Learning an embedding of handwritten digits with batch-hard triplets
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(7)
np.random.seed(7)

digits = load_digits()
X = (digits.data / 16.0).astype(np.float32)
y = digits.target
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=7, stratify=y)


class EmbeddingNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, 128), nn.ReLU(),
            nn.Linear(128, 64), nn.ReLU(),
            nn.Linear(64, dim))

    def forward(self, x):
        return self.body(x)


def pairwise_dist(e):
    diff = e.unsqueeze(1) - e.unsqueeze(0)
    d2 = diff.pow(2).sum(dim=-1)
    return torch.sqrt(d2)


def batch_hard(e, labels, margin=0.5):
    d = pairwise_dist(e)
    same = labels[:, None] == labels[None, :]
    hardest_pos = (d * same.float()).max(dim=1).values
    big = d.max().item() + 1.0
    hardest_neg = (d + big * same.float()).min(dim=1).values
    return F.relu(hardest_pos - hardest_neg + margin).mean()


def pk_batch(labels, P=8, K=6):
    classes = np.random.choice(10, P, replace=False)
    idx = [np.random.choice(np.where(labels == c)[0], K, replace=False) for c in classes]
    return np.concatenate(idx)


def recall_at_1(net):
    net.eval()
    with torch.no_grad():
        g = net(torch.from_numpy(Xtr)).numpy()
        q = net(torch.from_numpy(Xte)).numpy()
    net.train()
    d = ((q[:, None] - g[None]) ** 2).sum(-1)
    return (ytr[d.argmin(1)] == yte).mean()


net = EmbeddingNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(600):
    idx = pk_batch(ytr)
    emb = net(torch.from_numpy(Xtr[idx]))
    loss = batch_hard(emb, torch.from_numpy(ytr[idx]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0:
        print(f"iter {it:4d}  loss {loss.item():.4f}")
print("recall@1 %.4f" % recall_at_1(net))
