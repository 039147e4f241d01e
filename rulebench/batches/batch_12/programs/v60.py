import argparse
import numpy as np
import torch
from torch import nn

# FGSM adversarial training on a toy set


def moons(n, seed):
    from sklearn.datasets import make_moons
    x, y = make_moons(n, noise=0.12, random_state=seed)
    x = (x - np.array([0.5, 0.25])) / np.array([0.87, 0.5])
    return torch.tensor(x).float(), torch.tensor(y)


def attack(model, x, y, eps):
    x = x.clone().requires_grad_(True)
    loss = nn.functional.cross_entropy(model(x), y)
    (g,) = torch.autograd.grad(loss, x)
    return (x + eps * g.sign()).detach()


def acc(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--eps", type=float, default=0.15)
    p.add_argument("--epochs", type=int, default=40)
    a = p.parse_args()
    torch.manual_seed(0)
    x, y = moons(1000, 0)
    xt, yt = moons(500, 1)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.2, epochs=a.epochs, steps_per_epoch=20)
    for ep in range(a.epochs):
        for b in torch.randperm(1000).split(50):
            xa = attack(model, x[b], y[b], a.eps)
            loss = 0.5 * nn.functional.cross_entropy(model(x[b]), y[b]) + 0.5 * nn.functional.cross_entropy(model(xa), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        if ep % 5 == 4:
            print(ep + 1, "loss %.4f clean %.3f robust %.3f" % (loss.item(), acc(model, xt, yt), acc(model, attack(model, xt, yt, a.eps), yt)))


if __name__ == "__main__":
    main()
