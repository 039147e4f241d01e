import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# citation-like graph, edge list as text lines
torch.manual_seed(9)
rng = np.random.default_rng(9)
N, C, Fdim = 800, 4, 50
label = rng.integers(0, C, N)
feat = (rng.random((N, Fdim)) < 0.06).astype("float32")
for i in range(N):
    feat[i, label[i] * 10 + rng.integers(0, 10)] = 1.0
lines = []
while len(lines) < 2600:
    a, b = rng.integers(0, N, 2)
    if a != b and (label[a] == label[b] or rng.random() < 0.06):
        lines.append(f"{a + 1} {b + 1}")

edges = np.array([list(map(int, l.split())) for l in lines])
A = torch.zeros(N + 1, N + 1)
A[edges[:, 0], edges[:, 1]] = 1
A[edges[:, 1], edges[:, 0]] = 1
A = A[:N, :N] + torch.eye(N)
d = A.sum(1).pow(-0.5)
A_hat = d[:, None] * A * d[None, :]


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Linear(Fdim, 32), nn.Linear(32, C)

    def forward(self, x):
        x = F.relu(A_hat @ self.w1(x))
        x = F.dropout(x, 0.5, self.training)
        return A_hat @ self.w2(x)


X, Y = torch.tensor(feat), torch.tensor(label)
perm = torch.randperm(N)
train, test = perm[:200], perm[200:]
model = GCN()
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(150):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(X)[train], Y[train])
    loss.backward()
    opt.step()
    if epoch % 15 == 14:
        model.eval()
        with torch.no_grad():
            out = model(X).argmax(1)
        print(f"{epoch + 1} loss {loss.item():.3f} train {(out[train] == Y[train]).float().mean():.3f} "
              f"test {(out[test] == Y[test]).float().mean():.3f}")
