"""Semi-supervised digits with a mean teacher (10 labels per class)."""
import argparse
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(p), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(p))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.body(x))


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model, step):
        d = min(self.decay, 1 - 1 / (step + 1))
        for t, s in zip(self.model.parameters(), model.parameters()):
            t.lerp_(s, 1 - d)


def augment(x):
    return x + 0.15 * torch.randn_like(x)


def rampup(step, length):
    r = min(step / length, 1.0)
    return math.exp(-5 * (1 - r) ** 2)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def cycle(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--per-class", type=int, default=10)
    ap.add_argument("--steps", type=int, default=1200)
    ap.add_argument("--weight", type=float, default=10.0)
    ap.add_argument("--decay", type=float, default=0.99)
    args = ap.parse_args()
    torch.manual_seed(0)
    d = load_digits()
    x, y = torch.tensor(d.data / 16.0, dtype=torch.float32), torch.tensor(d.target)
    perm = torch.randperm(len(x))
    x, y = x[perm], y[perm]
    xte, yte, x, y = x[1300:], y[1300:], x[:1300], y[:1300]
    lab = torch.cat([(y == c).nonzero()[:args.per_class, 0] for c in range(10)])
    labelled = cycle(DataLoader(TensorDataset(x[lab], y[lab]), 25, shuffle=True))
    unlabelled = cycle(DataLoader(TensorDataset(x), 100, shuffle=True))
    student = Net()
    ema = EMA(student, args.decay)
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    for step in range(1, args.steps + 1):
        student.train()
        ema.model.train()
        (xl, yl), (xu,) = next(labelled), next(unlabelled)
        sup = F.cross_entropy(student(augment(xl)), yl)
        with torch.no_grad():
            target = F.softmax(ema.model(augment(xu)), 1)
        cons = F.mse_loss(F.softmax(student(augment(xu)), 1), target)
        loss = sup + args.weight * rampup(step, 500) * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(student, step)
        if step % 150 == 0:
            print(f"step {step} sup {sup.item():.4f} cons {cons.item():.5f} student {accuracy(student, xte, yte):.4f} teacher {accuracy(ema.model, xte, yte):.4f}")


if __name__ == "__main__":
    main()
