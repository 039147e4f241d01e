# Implicit feedback recommender: BPR with sparse embedding tables and a small dense tower
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2); rng = np.random.default_rng(2)
U, I, D = 300, 500, 6
pu, qi = rng.normal(size=(U, D)), rng.normal(size=(I, D))
score = pu @ qi.T + rng.gumbel(0, 1, (U, I))
liked = np.argsort(-score, 1)[:, :25]
train_items, test_items = liked[:, ::2], liked[:, 1::2]
pos_u = np.repeat(np.arange(U), train_items.shape[1]); pos_i = train_items.ravel()
seen = np.zeros((U, I), bool); seen[pos_u, pos_i] = True

class Model(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.user = nn.Embedding(U, d, sparse=True)
        self.item = nn.Embedding(I, d, sparse=True)
        nn.init.normal_(self.user.weight, std=.1); nn.init.normal_(self.item.weight, std=.1)
        self.tower = nn.Linear(d, d)
    def user_vec(self, u):
        e = self.user(u); return e + torch.tanh(self.tower(e))
    def forward(self, u, i): return (self.user_vec(u) * self.item(i)).sum(-1)

m = Model()
sparse_opt = torch.optim.SparseAdam(list(m.user.parameters()) + list(m.item.parameters()), lr=5e-3)
dense_opt = torch.optim.AdamW(m.tower.parameters(), lr=1e-3)

@torch.no_grad()
def recall(k=20):
    s = (m.user_vec(torch.arange(U)) @ m.item.weight.t()).numpy()
    s[seen] = -np.inf
    top = np.argsort(-s, 1)[:, :k]
    return np.mean([len(set(t) & set(g)) / len(g) for t, g in zip(top, test_items)])

print('recall@20 untrained %.4f' % recall())
for ep in range(25):
    perm = rng.permutation(len(pos_u)); tot = 0; nb = 0
    for b in np.array_split(perm, len(perm) // 128):
        neg = rng.integers(0, I, len(b))
        for _ in range(3):
            bad = seen[pos_u[b], neg]; neg[bad] = rng.integers(0, I, bad.sum())
        u, i, j = (torch.from_numpy(a) for a in (pos_u[b], pos_i[b], neg))
        loss = -F.logsigmoid(m(u, i) - m(u, j)).mean()
        sparse_opt.zero_grad(); dense_opt.zero_grad()
        loss.backward()
        sparse_opt.step(); dense_opt.step()
        tot += loss.item(); nb += 1
    if ep % 5 == 4: print(f'epoch {ep} bpr {tot/nb:.4f} recall@20 {recall():.4f}')
