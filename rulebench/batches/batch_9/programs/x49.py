import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import make_moons

torch.manual_seed(7)
X, y = make_moons(1200, noise=0.15, random_state=7)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32)

class MLP(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)])
        for l in self.layers:
            nn.init.constant_(l.weight, 0.5)
            nn.init.zeros_(l.bias)

    def forward(self, x):
        for l in self.layers[:-1]:
            x = torch.tanh(l(x))
        return self.layers[-1](x).squeeze(-1)

net = MLP()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(60):
    perm = torch.randperm(1000)
    for i in range(0, 1000, 50):
        b = perm[i:i + 50]
        loss = F.binary_cross_entropy_with_logits(net(X[b]), y[b])
        opt.zero_grad(); loss.backward(); opt.step()
    if (epoch + 1) % 10 == 0:
        with torch.no_grad():
            acc = ((net(X[1000:]) > 0).float() == y[1000:]).float().mean()
        print(f"epoch {epoch + 1:3d} loss {loss.item():.4f} val acc {acc:.3f}")
