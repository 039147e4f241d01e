"""Mean teacher for semi-supervised learning, 40 labelled digits."""
import argparse
import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def augment(x):
    dx, dy = np.random.randint(-1, 2, 2)
    x = torch.roll(x, (int(dx), int(dy)), (2, 3))
    return (x + 0.1 * torch.randn_like(x)).clamp(0, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                                  nn.MaxPool2d(2))
        self.fc = nn.Linear(32 * 16, 10)

    def forward(self, x):
        return self.fc(F.dropout(self.conv(x).flatten(1), 0.3, self.training))


class MeanTeacher:
    def __init__(self, student, decay):
        self.student = student
        self.teacher = copy.deepcopy(student).requires_grad_(False)
        self.decay, self.step = decay, 0

    @torch.no_grad()
    def update(self):
        self.step += 1
        d = min(self.decay, 1 - 1 / (self.step + 1))
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(d).add_(s, alpha=1 - d)
        for t, s in zip(self.teacher.buffers(), self.student.buffers()):
            t.copy_(s)


def rampup(step, length):
    r = min(1.0, step / length)
    return float(np.exp(-5 * (1 - r) ** 2))


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    return (net(x).argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=700)
    ap.add_argument("--per-class", type=int, default=4)
    ap.add_argument("--weight", type=float, default=20.0)
    ap.add_argument("--decay", type=float, default=0.98)
    args = ap.parse_args()
    torch.manual_seed(0); np.random.seed(0)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16
    y = torch.tensor(d.target)
    perm = torch.randperm(len(y))
    x, y = x[perm], y[perm]
    xte, yte = x[1300:], y[1300:]
    xu, yu = x[:1300], y[:1300]
    lab = torch.cat([(yu == c).nonzero().flatten()[:args.per_class] for c in range(10)])
    xl, yl = xu[lab], yu[lab]

    mt = MeanTeacher(Net(), args.decay)
    opt = torch.optim.SGD(mt.student.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4, nesterov=True)
    for step in range(1, args.steps + 1):
        mt.student.train()
        mt.teacher.eval()
        u = torch.randint(0, len(xu), (64,))
        l = torch.randint(0, len(xl), (32,))
        out = mt.student(torch.cat([augment(xl[l]), augment(xu[u])]))
        ce = F.cross_entropy(out[:32], yl[l])
        with torch.no_grad():
            soft = mt.teacher(augment(xu[u])).softmax(1)
        cons = F.mse_loss(out[32:].softmax(1), soft)
        loss = ce + args.weight * rampup(step, args.steps // 3) * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        mt.update()
        if step % 70 == 0:
            print(f"step {step} ce {ce.item():.4f} cons {cons.item():.5f} student {accuracy(mt.student, xte, yte):.4f} "
                  f"teacher {accuracy(mt.teacher, xte, yte):.4f}")


if __name__ == "__main__":
    main()
