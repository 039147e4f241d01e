# Matrix factorisation with sparse gradients
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(4)
torch.set_num_threads(1)
rng = np.random.default_rng(4)
U, I, R = 400, 300, 4
true = rng.normal(0, 0.5, (U, R)) @ rng.normal(0, 1.0, (I, R)).T + rng.normal(0, 0.3, (U, 1)) + rng.normal(0, 0.4, (1, I)) + 3.5
pairs = rng.permutation(U * I)[:24000]
u, i = pairs // I, pairs % I
r = (true[u, i] + rng.normal(0, 0.3, len(pairs))).astype("float32")
u, i, r = torch.tensor(u), torch.tensor(i), torch.tensor(r)
n = 20000
mu = r[:n].mean()


class MF(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user = nn.Embedding(U, dim, sparse=True)
        self.item = nn.Embedding(I, dim, sparse=True)
        nn.init.normal_(self.user.weight, 0, 0.1)
        nn.init.normal_(self.item.weight, 0, 0.1)
        self.bu = nn.Parameter(torch.zeros(U))
        self.bi = nn.Parameter(torch.zeros(I))

    def forward(self, a, b):
        p, q = self.user(a), self.item(b)
        return mu + self.bu[a] + self.bi[b] + (p * q).sum(1), p, q


m = MF()
opt_sparse = torch.optim.SparseAdam([m.user.weight, m.item.weight], lr=5e-3)
opt_bias = torch.optim.Adam([m.bu, m.bi], lr=5e-3, weight_decay=1e-5)
print("baseline rmse %.4f" % (r[n:] - mu).pow(2).mean().sqrt())
for ep in range(1, 16):
    perm = torch.randperm(n)
    for s in range(0, n, 256):
        k = perm[s:s + 256]
        pred, p, q = m(u[k], i[k])
        loss = ((pred - r[k]) ** 2 + 0.02 * (p.pow(2).sum(1) + q.pow(2).sum(1))).sum() / len(k)
        opt_sparse.zero_grad()
        opt_bias.zero_grad()
        loss.backward()
        opt_sparse.step()
        opt_bias.step()
    with torch.no_grad():
        te = (m(u[n:], i[n:])[0] - r[n:]).pow(2).mean().sqrt()
    print(f"epoch {ep:2d} last batch loss {loss.item():.4f} test rmse {te:.4f}")
