# GCN (Kipf & Welling) in plain torch on a planted-partition graph, 5 labels per class
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

seed = 3
rng = np.random.default_rng(seed)
torch.manual_seed(seed)

n, k, feat = 900, 4, 30
labels = np.arange(n) % k
prob = np.where(labels[:, None] == labels[None], 0.025, 0.004)
upper = np.triu(rng.random((n, n)) < prob, 1)
A = (upper | upper.T).astype("float32") + np.eye(n, dtype="float32")
d = A.sum(1) ** -0.5
A_hat = torch.from_numpy(d[:, None] * A * d[None]).to_sparse()
centers = rng.normal(0, 1, (k, feat))
X = torch.from_numpy((centers[labels] * 0.5 + rng.normal(0, 1, (n, feat))).astype("float32"))
y = torch.from_numpy(labels)

perm = rng.permutation(n)
train_mask, val_mask, test_mask = (torch.zeros(n, dtype=torch.bool) for _ in range(3))
for c in range(k):
    train_mask[perm[labels[perm] == c][:5]] = True
rest = [i for i in perm if not train_mask[i]]
val_mask[rest[:200]] = True
test_mask[rest[200:]] = True


class GCN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.w1 = nn.Linear(feat, hidden, bias=False)
        self.w2 = nn.Linear(hidden, k, bias=False)

    def forward(self, x):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(torch.sparse.mm(A_hat, self.w1(x)))
        x = F.dropout(x, 0.5, self.training)
        return torch.sparse.mm(A_hat, self.w2(x))


net = GCN()
opt = torch.optim.Adam([{"params": net.w1.parameters(), "weight_decay": 5e-3},
                        {"params": net.w2.parameters(), "weight_decay": 0.0}], lr=0.01)
best, best_state = 0.0, None
for epoch in range(300):
    net.train()
    opt.zero_grad()
    out = net(X)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(X).argmax(1) == y)[val_mask].float().mean().item()
    if acc > best:
        best, best_state = acc, {key: v.clone() for key, v in net.state_dict().items()}
    if epoch % 50 == 0:
        print(epoch, f"{loss.item():.4f}", f"val {acc:.3f}")

net.load_state_dict(best_state)
net.eval()
with torch.no_grad():
    print("test accuracy:", (net(X).argmax(1) == y)[test_mask].float().mean().item())
