"""Mean-teacher style semi-supervised learning on two moons with 16 labels."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


def get_data():
    x, y = make_moons(2200, noise=0.12, random_state=0)
    x = torch.tensor(x, dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0)
    y = torch.tensor(y)
    labelled = torch.cat([(y[:1600] == c).nonzero().flatten()[:8] for c in (0, 1)])
    return (x[:1600], y[:1600], labelled), (x[1600:], y[1600:])


class Net(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Dropout(0.1), nn.Linear(h, 2))

    def forward(self, x):
        return self.f(x)


def ramp(step, length):
    return min(1.0, step / length)


@torch.no_grad()
def update_teacher(teacher, student, decay):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


@torch.no_grad()
def accuracy(net, x, y):
    was = net.training
    net.eval()
    a = (net(x).argmax(1) == y).float().mean().item()
    net.train(was)
    return a


def train(use_unlabelled, steps, noise, weight, seed=0):
    torch.manual_seed(seed)
    (x, y, lab), (xte, yte) = get_data()
    student = Net()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    teacher.eval()
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    for step in range(steps):
        xl = x[lab] + noise * torch.randn(len(lab), 2)
        loss = F.cross_entropy(student(xl), y[lab])
        if use_unlabelled:
            xu = x[torch.randint(len(x), (128,))]
            target = F.softmax(teacher(xu + noise * torch.randn_like(xu)), dim=1)
            cons = F.mse_loss(F.softmax(student(xu + noise * torch.randn_like(xu)), dim=1), target)
            loss = loss + weight * ramp(step, steps // 4) * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_teacher(teacher, student, min(0.99, 1 - 1 / (step + 1)))
        if (step + 1) % (steps // 4) == 0:
            print(f"  step {step + 1} loss {loss.item():.4f} student {accuracy(student, xte, yte):.3f} "
                  f"teacher {accuracy(teacher, xte, yte):.3f}")
    return accuracy(teacher, xte, yte)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1200)
    ap.add_argument("--noise", type=float, default=0.15)
    ap.add_argument("--weight", type=float, default=10.0)
    a = ap.parse_args()
    print("labels only")
    base = train(False, a.steps // 2, a.noise, a.weight)
    print("labels + consistency")
    semi = train(True, a.steps, a.noise, a.weight)
    print(f"labels only {base:.3f}, with unlabelled data {semi:.3f}")
