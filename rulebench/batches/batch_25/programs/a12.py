import numpy as np
import torch
import torch.nn.functional as F

# Semi-supervised node classification, 2-layer GCN written by hand.
SEED = 0
np.random.seed(SEED); torch.manual_seed(SEED)
n_per, k, feat = 150, 4, 24
n = n_per * k
labels = np.repeat(np.arange(k), n_per)
P = np.full((k, k), 0.008) + np.eye(k) * 0.05
A = np.triu((np.random.rand(n, n) < P[labels][:, labels]), 1)
A = (A + A.T).astype(np.float32)
means = np.random.randn(k, feat)
X = means[labels] * 0.35 + np.random.randn(n, feat)

A_hat = A + np.eye(n, dtype=np.float32)
d = A_hat.sum(1) ** -0.5
A_norm = torch.tensor(d[:, None] * A_hat * d[None, :])
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(labels)

train_mask = torch.zeros(n, dtype=torch.bool)
for c in range(k):
    train_mask[np.random.choice(np.where(labels == c)[0], 10, replace=False)] = True
rest = torch.where(~train_mask)[0][torch.randperm(n - 10 * k)]
val_idx, test_idx = rest[:150], rest[150:]


class GCN(torch.nn.Module):
    def __init__(self, h=16):
        super().__init__()
        self.w1 = torch.nn.Linear(feat, h)
        self.w2 = torch.nn.Linear(h, k)

    def forward(self, x, a):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(a @ self.w1(x))
        x = F.dropout(x, 0.5, self.training)
        return a @ self.w2(x)


net = GCN()
opt = torch.optim.Adam([
    dict(params=net.w1.parameters(), weight_decay=5e-4),
    dict(params=net.w2.parameters(), weight_decay=0.0)], lr=0.01)

best_val, best_state = 0, None
for epoch in range(800):
    net.train()
    opt.zero_grad()
    out = net(X, A_norm)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        pred = net(X, A_norm).argmax(1)
    val = (pred[val_idx] == y[val_idx]).float().mean().item()
    if val > best_val:
        best_val = val
        best_state = {key: v.clone() for key, v in net.state_dict().items()}
    if epoch % 100 == 0:
        print(f"{epoch:3d} loss={loss.item():.4f} val={val:.4f}")

net.load_state_dict(best_state)
net.eval()
pred = net(X, A_norm).argmax(1)
print("test accuracy (best val %.3f): %.4f" % (best_val, (pred[test_idx] == y[test_idx]).float().mean()))
