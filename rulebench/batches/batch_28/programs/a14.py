"""Deep plain-residual MLP (16 blocks, no normalisation) for a regression benchmark.

Follows the recipe of the group's code base: each block carries a scalar gate `alpha`, loss is
summed over the batch, learning rate is stated per sample.
"""
import argparse
import torch
from torch import nn
from sklearn.datasets import make_friedman1

SEED = 1
p = argparse.ArgumentParser()
p.add_argument("--depth", type=int, default=16)
p.add_argument("--width", type=int, default=48)
p.add_argument("--lr", type=float, default=2e-4)
p.add_argument("--epochs", type=int, default=40)
p.add_argument("--bs", type=int, default=50)
args = p.parse_args()
torch.manual_seed(SEED)


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.a = nn.Linear(w, w)
        self.b = nn.Linear(w, w)
        self.alpha = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return x + self.alpha * self.b(torch.relu(self.a(x)))


class Net(nn.Module):
    def __init__(self, d_in):
        super().__init__()
        self.inp = nn.Linear(d_in, args.width)
        self.blocks = nn.ModuleList(Block(args.width) for _ in range(args.depth))
        self.out = nn.Linear(args.width, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = b(x)
        return self.out(x).squeeze(-1)


X, y = make_friedman1(n_samples=2500, n_features=10, noise=0.5, random_state=SEED)
X = torch.tensor(X, dtype=torch.float32) * 2 - 1
y = torch.tensor(y, dtype=torch.float32)
m, s = y[:2000].mean(), y[:2000].std()
ytr, yte = (y[:2000] - m) / s, (y[2000:] - m) / s
Xtr, Xte = X[:2000], X[2000:]

net = Net(10)
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
loss_fn = nn.MSELoss(reduction="sum")

for ep in range(args.epochs):
    total = 0.0
    for idx in torch.randperm(2000).split(args.bs):
        loss = loss_fn(net(Xtr[idx]), ytr[idx])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        total += loss.item()
    if ep % 5 == 0 or ep == args.epochs - 1:
        with torch.no_grad():
            r2 = 1 - ((net(Xte) - yte) ** 2).mean() / yte.var()
        a = torch.stack([b.alpha.detach().abs() for b in net.blocks]).mean()
        print(f"ep {ep:3d}  sse {total:9.2f}  test R2 {r2:.4f}  mean|alpha| {a:.4f}")
print(f"final test R2 {r2:.4f}")
