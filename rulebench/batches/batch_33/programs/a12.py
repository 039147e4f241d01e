"""Node classification with a two-layer GCN on a stochastic block model graph (dense A)."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--epochs", type=int, default=250)
args = ap.parse_args()
torch.manual_seed(args.seed)

# graph -----------------------------------------------------------------------------------
n, C, Fdim = 1200, 5, 50
y = torch.randint(0, C, (n,))
same = y[:, None] == y[None]
A = torch.bernoulli(torch.where(same, 0.025, 0.004)).triu(1)
A = A + A.T
proto = torch.randn(C, Fdim)
X = 0.25 * proto[y] + torch.randn(n, Fdim)
A_hat = A + torch.eye(n)
dinv = A_hat.sum(1).rsqrt()
A_norm = dinv[:, None] * A_hat * dinv[None]

perm = torch.randperm(n)
train_idx, val_idx, test_idx = perm[:150], perm[150:450], perm[450:]


class GCN(nn.Module):
    def __init__(self, f, h, c, p=0.5):
        super().__init__()
        self.w1, self.w2, self.p = nn.Linear(f, h), nn.Linear(h, c), p

    def forward(self, a, x):
        x = F.dropout(x, self.p, self.training)
        x = F.relu(a @ self.w1(x))
        x = F.dropout(x, self.p, self.training)
        return a @ self.w2(x)


model = GCN(Fdim, 32, C)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val, best_test = 0.0, 0.0
for epoch in range(1, args.epochs + 1):
    model.train()
    optimizer.zero_grad()
    out = model(A_norm, X)
    loss = F.cross_entropy(out[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(A_norm, X).argmax(1)
    val = (pred[val_idx] == y[val_idx]).float().mean().item()
    test = (pred[test_idx] == y[test_idx]).float().mean().item()
    if val > best_val:
        best_val, best_test = val, test
    if epoch % 25 == 0:
        print(f"Epoch {epoch:03d}, loss {loss:.4f}, val {val:.4f}, test {test:.4f}")
print(f"Test accuracy at best validation: {best_test:.4f}")
