"""Metric learning on wine with the batch-hard triplet loss."""
import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

SEED = 13
torch.manual_seed(SEED)
np.random.seed(SEED)


def pairwise_distance(e):
    diff = e.unsqueeze(0) - e.unsqueeze(1)
    sq = (diff ** 2).sum(dim=-1)
    return torch.sqrt(sq)


def batch_hard_triplet(e, y, margin=0.5):
    dist = pairwise_distance(e)
    same = y[:, None] == y[None, :]
    hardest_pos = (dist * same.float()).max(dim=1).values
    hardest_neg = (dist + 1e4 * same.float()).min(dim=1).values
    return torch.relu(hardest_pos - hardest_neg + margin).mean()


class Embedder(nn.Module):
    def __init__(self, d_in, d_out=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d_out))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


X, y = load_wine(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.4, random_state=SEED, stratify=y)
sc = StandardScaler().fit(Xa)
Xa = torch.tensor(sc.transform(Xa), dtype=torch.float32)
Xb = torch.tensor(sc.transform(Xb), dtype=torch.float32)
ya_t = torch.tensor(ya)

model = Embedder(X.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(200):
    order = torch.randperm(len(Xa))
    total, nb = 0.0, 0
    for i in range(0, len(order) - 15, 32):
        idx = order[i:i + 32]
        loss = batch_hard_triplet(model(Xa[idx]), ya_t[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        nb += 1
    if epoch % 15 == 0:
        print(f"epoch {epoch:3d} triplet loss {total / nb:.4f}")

model.eval()
with torch.no_grad():
    ea = torch.nan_to_num(model(Xa)).numpy()
    eb = torch.nan_to_num(model(Xb)).numpy()
knn = KNeighborsClassifier(5).fit(ea, ya)
print("knn test accuracy in embedding space:", knn.score(eb, yb))
