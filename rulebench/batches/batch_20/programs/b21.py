"""Metric learning: embed digits so that same-class images are close; retrieval by nearest neighbour."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(6)
X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X / 16.0, y, test_size=0.4, random_state=6, stratify=y)
Xtr, Xte = torch.tensor(Xtr, dtype=torch.float32), torch.tensor(Xte, dtype=torch.float32)
ytr, yte = torch.tensor(ytr), torch.tensor(yte)


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
                                 nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def pairwise_distance(a, b):
    sq = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)
    return sq.sqrt()


def batch_hard_triplet(emb, labels, margin=0.5):
    dist = pairwise_distance(emb, emb)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    hardest_pos = (dist * same).max(1).values
    hardest_neg = (dist + 10.0 * same).min(1).values
    return F.relu(hardest_pos - hardest_neg + margin).mean()


def sample_batch(classes=8, per_class=6):
    idx = []
    for c in torch.randperm(10)[:classes]:
        pool = torch.nonzero(ytr == c).flatten()
        idx.append(pool[torch.randperm(len(pool))[:per_class]])
    idx = torch.cat(idx)
    return Xtr[idx], ytr[idx]


@torch.no_grad()
def recall_at_1(model):
    model.eval()
    g, q = model(Xtr), model(Xte)
    nearest = pairwise_distance(q, g).argmin(1)
    return (ytr[nearest] == yte).float().mean().item()


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
avg = 0.0
for step in range(1, 601):
    model.train()
    x, lab = sample_batch()
    loss = batch_hard_triplet(model(x), lab)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    avg += loss.item()
    if step % 100 == 0:
        print(f"step {step}: triplet loss {avg / 100:.4f}  recall@1 {recall_at_1(model):.4f}")
        avg = 0.0
