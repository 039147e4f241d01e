#!/usr/bin/env python
# Fine-tune a regression MLP in reduced precision to save memory.
import argparse
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=1e-4)
p.add_argument("--epochs", type=int, default=60)
p.add_argument("--batch-size", type=int, default=64)
p.add_argument("--dtype", default="bfloat16")
p.add_argument("--seed", type=int, default=0)
args = p.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)
dtype = getattr(torch, args.dtype)


def target(x):
    return torch.tanh(2 * x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3] + 0.4 * x[:, 3:4].abs()


g = torch.Generator().manual_seed(args.seed)
X = torch.randn(4096, 6, generator=g)
Xv = torch.randn(1024, 6, generator=g)
Y, Yv = target(X), target(Xv)
X, Y = X.to(dtype), Y.to(dtype)

net = nn.Sequential(nn.Linear(6, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 1))
net = net.to(dtype)
opt = torch.optim.Adam(net.parameters(), lr=args.lr)

start = time.time()
for epoch in range(1, args.epochs + 1):
    net.train()
    order = torch.randperm(len(X))
    total = 0.0
    for chunk in order.split(args.batch_size):
        pred = net(X[chunk])
        loss = nn.functional.mse_loss(pred.float(), Y[chunk].float())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        total += loss.item() * len(chunk)
    if epoch % 10 == 0:
        net.eval()
        with torch.no_grad():
            err = (net(Xv.to(dtype)).float() - Yv).square().mean()
        r2 = 1 - err / Yv.var()
        print(f"epoch {epoch:3d}  train mse {total / len(X):.4f}  val R2 {r2:.4f}  ({time.time() - start:.0f}s)")

print(f"final val R2 {r2:.4f}")
