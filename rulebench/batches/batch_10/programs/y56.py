import torch
import torch.nn as nn
import torch.nn.functional as F

# GCN on a stochastic block model, few labelled nodes, weak node features
torch.manual_seed(305)
N, C = 300, 3
y = torch.arange(N) % C
prob = torch.where(y[:, None] == y[None], 0.08, 0.01)
A = (torch.rand(N, N) < prob).float().triu(1)
A = A + A.T
X = torch.randn(N, 12)
X[:, :C] += F.one_hot(y, C) * 0.8
Ah = A + torch.eye(N)
dinv = Ah.sum(1).rsqrt()
Ah = dinv[:, None] * Ah * dinv[None]
train = torch.zeros(N, dtype=torch.bool)
for c in range(C):
    nodes = (y == c).nonzero().flatten()
    train[nodes[torch.randperm(len(nodes))[:15]]] = True
test = ~train


class GCN(nn.Module):
    def __init__(self, d, h, k):
        super().__init__()
        self.l1, self.l2 = nn.Linear(d, h), nn.Linear(h, k)

    def forward(self, a, x):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(a @ self.l1(x))
        x = F.dropout(x, 0.5, self.training)
        return a @ self.l2(x)


model = GCN(12, 24, C)
opt = torch.optim.Adam([{"params": model.l1.parameters(), "weight_decay": 5e-4},
                        {"params": model.l2.parameters(), "weight_decay": 0.0}], lr=0.01)
for epoch in range(200):
    model.train()
    loss = F.cross_entropy(model(Ah, X)[train], y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            acc = (model(Ah, X)[test].argmax(1) == y[test]).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} test acc {acc:.4f}")
