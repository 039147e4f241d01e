import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# Two-layer GCN (Kipf & Welling) for node classification on a stochastic block model.
SEED = 3
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)
N, C, FEAT = 1000, 4, 16

label = rng.integers(0, C, N)
same = label[:, None] == label[None, :]
A = np.triu(rng.random((N, N)) < np.where(same, 0.03, 0.004), 1)
A = (A | A.T).astype(np.float32)
centers = rng.normal(size=(C, FEAT))
feats = 0.5 * centers[label] + rng.normal(size=(N, FEAT))

A_hat = A + np.eye(N, dtype=np.float32)
d = 1 / np.sqrt(A_hat.sum(1))
A_norm = torch.tensor(d[:, None] * A_hat * d[None, :], dtype=torch.float32)
x = torch.tensor(feats, dtype=torch.float32)
y = torch.tensor(label)
perm = torch.randperm(N)
train_idx, val_idx, test_idx = perm[:120], perm[120:300], perm[300:]


class GCN(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.l1 = nn.Linear(n_in, hidden)
        self.l2 = nn.Linear(hidden, n_out)

    def forward(self, a, h):
        h = F.dropout(h, 0.3, self.training)
        h = F.relu(a @ self.l1(h))
        h = F.dropout(h, 0.5, self.training)
        return a @ self.l2(h)


model = GCN(FEAT, 64, C)
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val, best = 0.0, None
for epoch in range(900):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(A_norm, x)[train_idx], y[train_idx])
    loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        hit = (model(A_norm, x).argmax(1) == y).float()
    val = hit[val_idx].mean().item()
    if val > best_val:
        best_val, best = val, {k: v.clone() for k, v in model.state_dict().items()}
    if epoch % 50 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.4f} train {hit[train_idx].mean():.3f} val {val:.3f}")
model.load_state_dict(best)
model.eval()
with torch.no_grad():
    print("test accuracy %.4f" % (model(A_norm, x).argmax(1) == y).float()[test_idx].mean())
