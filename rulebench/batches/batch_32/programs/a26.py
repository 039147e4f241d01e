"""GCN on a synthetic citation graph (stochastic block model), semi-supervised."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 26
np.random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

N, C, D = 1200, 6, 300
labels = torch.from_numpy(np.random.randint(0, C, N))
same = labels[:, None] == labels[None]
prob = torch.where(same, 0.012, 0.003)
A = torch.triu((torch.rand(N, N) < prob).float(), 1)
A = A + A.T + torch.eye(N)
dinv = A.sum(1).rsqrt()
A_hat = dinv[:, None] * A * dinv[None]
centers = torch.randn(C, D) * 0.08
feat = centers[labels] + torch.randn(N, D)

perm = torch.randperm(N)
train_mask = torch.zeros(N, dtype=torch.bool)
val_mask = train_mask.clone()
test_mask = train_mask.clone()
train_mask[perm[:180]] = True
val_mask[perm[180:480]] = True
test_mask[perm[480:]] = True
print("train/val/test nodes:", train_mask.sum().item(), val_mask.sum().item(), test_mask.sum().item())


class GCN(nn.Module):
    def __init__(self, hid=64):
        super().__init__()
        self.w1 = nn.Linear(D, hid)
        self.w2 = nn.Linear(hid, C)

    def forward(self, x):
        x = F.dropout(F.relu(A_hat @ self.w1(x)), 0.5, self.training)
        return A_hat @ self.w2(x)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


@torch.no_grad()
def evaluate(mask):
    model.eval()
    pred = model(feat).argmax(1)
    return (pred[mask] == labels[mask]).float().mean().item()


best_val, test_at_best = 0, 0
for epoch in range(1, 301):
    model.train()
    optimizer.zero_grad()
    out = model(feat)
    loss = F.cross_entropy(out, labels)
    loss.backward()
    optimizer.step()
    val = evaluate(val_mask)
    if val > best_val:
        best_val, test_at_best = val, evaluate(test_mask)
    if epoch % 30 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} train {evaluate(train_mask):.3f} val {val:.3f}")
print(f"best val {best_val:.4f}, test accuracy {test_at_best:.4f}")
