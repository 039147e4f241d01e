# two layer GCN for node classification, only 10 labelled nodes per community
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
rng = np.random.default_rng(2)
n, k = 400, 4
y = np.repeat(np.arange(k), n // k)
p = np.where(y[:, None] == y[None], 0.06, 0.008)
A = np.triu(rng.random((n, n)) < p, 1)
A = (A + A.T).astype(np.float32)
X = rng.standard_normal((n, 32)).astype(np.float32)
X[np.arange(n), y] += 1.0

A_hat = A + np.eye(n, dtype=np.float32)
dinv = 1 / np.sqrt(A_hat.sum(1))
A_norm = torch.tensor(dinv[:, None] * A_hat * dinv[None]).to_sparse()
X, y = torch.tensor(X), torch.tensor(y)

train_mask = torch.zeros(n, dtype=torch.bool)
val_mask = torch.zeros(n, dtype=torch.bool)
for c in range(k):
    idx = torch.randperm(n // k) + c * (n // k)
    train_mask[idx[:10]] = True
    val_mask[idx[10:25]] = True
test_mask = ~(train_mask | val_mask)


class GCN(nn.Module):
    def __init__(self, fin, hid, out):
        super().__init__()
        self.w1 = nn.Linear(fin, hid, bias=False)
        self.w2 = nn.Linear(hid, out, bias=False)

    def forward(self, x, a):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(torch.sparse.mm(a, self.w1(x)))
        x = F.dropout(x, 0.5, self.training)
        return torch.sparse.mm(a, self.w2(x))


model = GCN(32, 16, k)
opt = torch.optim.Adam([
    {"params": model.w1.parameters(), "weight_decay": 5e-3},
    {"params": model.w2.parameters(), "weight_decay": 0.0},
], lr=0.01)

best_val = best_test = 0
for epoch in range(200):
    model.train()
    opt.zero_grad()
    out = model(X, A_norm)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        pred = model(X, A_norm).argmax(1)
    val = (pred[val_mask] == y[val_mask]).float().mean().item()
    test = (pred[test_mask] == y[test_mask]).float().mean().item()
    if val > best_val:
        best_val, best_test = val, test
    if epoch % 40 == 39:
        print(f"{epoch + 1} loss {loss.item():.4f} val {val:.3f} test {test:.3f}")
print("test at best val", best_test)
