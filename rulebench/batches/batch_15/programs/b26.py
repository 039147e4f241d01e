"""Mean teacher, 60 labelled digits, the rest unlabelled."""
import argparse
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def build(p=0.3):
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(p), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 10))


def augment(x):
    x = x.view(-1, 8, 8)
    dx, dy = int(torch.randint(-1, 2, ())), int(torch.randint(-1, 2, ()))
    if torch.rand(()) < 0.5:
        x = torch.roll(x, (dx, dy), (1, 2))
    return (x + 0.1 * torch.randn_like(x)).flatten(1)


def split(seed, per_class):
    d = load_digits()
    x = torch.tensor(d.data / 16.0, dtype=torch.float32)
    y = torch.tensor(d.target)
    g = torch.Generator().manual_seed(seed)
    p = torch.randperm(len(x), generator=g)
    x, y = x[p], y[p]
    test = (x[1300:], y[1300:])
    x, y = x[:1300], y[:1300]
    lab = torch.cat([(y == c).nonzero()[:per_class, 0] for c in range(10)])
    mask = torch.ones(len(x), dtype=torch.bool)
    mask[lab] = False
    return (x[lab], y[lab]), x[mask], test


def ramp(step, total):
    t = min(step / total, 1.0)
    return float(torch.exp(torch.tensor(-5 * (1 - t) ** 2)))


@torch.no_grad()
def acc(m, xy):
    m.eval()
    a = (m(xy[0]).argmax(1) == xy[1]).float().mean().item()
    m.train()
    return a


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--decay", type=float, default=0.99)
    ap.add_argument("--weight", type=float, default=30.0)
    args = ap.parse_args()
    torch.manual_seed(0)
    (xl, yl), xu, test = split(0, 6)
    student = build()
    teacher = copy.deepcopy(student)
    teacher.requires_grad_(False)
    opt = torch.optim.Adam(student.parameters(), lr=1e-3)
    for step in range(1, args.steps + 1):
        i = torch.randint(0, len(xl), (30,))
        j = torch.randint(0, len(xu), (100,))
        sup = F.cross_entropy(student(augment(xl[i])), yl[i])
        with torch.no_grad():
            target = teacher(xu[j] + 0.1 * torch.randn(100, 64)).softmax(1)
        cons = F.mse_loss(student(xu[j] + 0.1 * torch.randn(100, 64)).softmax(1), target)
        loss = sup + args.weight * ramp(step, 600) * cons
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        with torch.no_grad():
            d = min(args.decay, 1 - 1 / (step + 1))
            for pt, ps in zip(teacher.parameters(), student.parameters()):
                pt.lerp_(ps, 1 - d)
        if step % 250 == 0:
            print(f"step {step} sup {sup.item():.4f} cons {cons.item():.5f} student {acc(student, test):.4f} teacher {acc(teacher, test):.4f}")


if __name__ == "__main__":
    main()
