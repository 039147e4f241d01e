import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score

torch.manual_seed(6)
rng = np.random.default_rng(6)

# implicit click data: latent factors plus item popularity
N_USERS, N_ITEMS, N = 800, 500, 60000
U = rng.normal(0, 1, (N_USERS, 4))
I = rng.normal(0, 1, (N_ITEMS, 4))
pop = rng.normal(-0.3, 0.8, N_ITEMS)
users = rng.integers(0, N_USERS, N)
items = rng.integers(0, N_ITEMS, N)
p = 1 / (1 + np.exp(-1.2 * ((U[users] * I[items]).sum(1) + pop[items])))
clicks = (rng.random(N) < p).astype(np.float32)

u, i, c = (torch.from_numpy(a) for a in (users, items, clicks))
n_train = 50000


class Recommender(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim, sparse=True)
        self.item = nn.Embedding(N_ITEMS, dim, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.item_bias = nn.Embedding(N_ITEMS, 1, sparse=True)
        nn.init.zeros_(self.item_bias.weight)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        dot = (a * b).sum(-1)
        return dot + self.item_bias(i).squeeze(-1) + self.mlp(torch.cat([a, b], -1)).squeeze(-1)


model = Recommender()
sparse_params = [model.user.weight, model.item.weight, model.item_bias.weight]
opt_sparse = torch.optim.SparseAdam(sparse_params, lr=5e-3)
opt_dense = torch.optim.Adam(model.mlp.parameters(), lr=1e-3, weight_decay=1e-4)
loss_fn = nn.BCEWithLogitsLoss()

for epoch in range(12):
    order = torch.randperm(n_train)
    total = 0.0
    for idx in order.split(256):
        loss = loss_fn(model(u[idx], i[idx]), c[idx])
        opt_sparse.zero_grad()
        opt_dense.zero_grad()
        loss.backward()
        opt_sparse.step()
        opt_dense.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        s = model(u[n_train:], i[n_train:])
        val = loss_fn(s, c[n_train:]).item()
    print(f"epoch {epoch} train {total / n_train:.4f} val {val:.4f} auc {roc_auc_score(clicks[n_train:], s.numpy()):.4f}")
print("auc of the generating probabilities:", round(roc_auc_score(clicks[n_train:], p[n_train:]), 4))
