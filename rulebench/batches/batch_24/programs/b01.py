"""Implicit-feedback recommender: factorisation model with a small side-feature tower."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)

N_USERS, N_ITEMS, K = 1200, 600, 8

# ----- synthetic interactions -------------------------------------------------
u_lat = rng.normal(size=(N_USERS, K))
i_lat = rng.normal(size=(N_ITEMS, K))
item_feat = (i_lat @ rng.normal(size=(K, 5)) + 0.5 * rng.normal(size=(N_ITEMS, 5))).astype("float32")
scores = u_lat @ i_lat.T + rng.gumbel(size=(N_USERS, N_ITEMS))
top = np.argsort(-scores, axis=1)[:, :26]
train_pairs, test_pairs = [], []
for u in range(N_USERS):
    items = rng.permutation(top[u])
    train_pairs += [(u, i) for i in items[:22]]
    test_pairs += [(u, i) for i in items[22:]]
train_pairs = torch.tensor(np.array(train_pairs))
test_pairs = np.array(test_pairs)
seen = np.zeros((N_USERS, N_ITEMS), dtype=bool)
seen[train_pairs[:, 0].numpy(), train_pairs[:, 1].numpy()] = True


class Recommender(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim, sparse=True)
        self.item = nn.Embedding(N_ITEMS, dim, sparse=True)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)
        self.tower = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, dim))

    def item_vec(self, i, feats):
        return self.item(i) + self.tower(feats[i])

    def forward(self, u, i, feats):
        return (self.user(u) * self.item_vec(i, feats)).sum(-1)


feats = torch.from_numpy(item_feat)
feats = (feats - feats.mean(0)) / feats.std(0)
model = Recommender()
emb_opt = torch.optim.SparseAdam(list(model.user.parameters()) + list(model.item.parameters()), lr=3e-3)
mlp_opt = torch.optim.Adam(model.tower.parameters(), lr=1e-3)


@torch.no_grad()
def recall_at(k=20):
    all_items = torch.arange(N_ITEMS)
    s = model.user.weight @ model.item_vec(all_items, feats).T
    s = s.numpy().copy()
    s[seen] = -1e9
    best = np.argpartition(-s, k, axis=1)[:, :k]
    hit = [(i in best[u]) for u, i in test_pairs]
    return float(np.mean(hit))


print("recall@20 before training", round(recall_at(), 4))
B = 512
for epoch in range(12):
    perm = torch.randperm(len(train_pairs))
    total = 0.0
    for s in range(0, len(perm), B):
        batch = train_pairs[perm[s:s + B]]
        u, pos = batch[:, 0], batch[:, 1]
        neg = torch.randint(0, N_ITEMS, pos.shape)
        diff = model(u, pos, feats) - model(u, neg, feats)
        loss = F.softplus(-diff).mean()
        emb_opt.zero_grad()
        mlp_opt.zero_grad()
        loss.backward()
        emb_opt.step()
        mlp_opt.step()
        total += loss.item() * len(u)
    print(f"epoch {epoch:2d}  bpr {total / len(perm):.4f}  recall@20 {recall_at():.4f}")
