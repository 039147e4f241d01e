"""Mean teacher on digits with 60 labels: student + EMA teacher, consistency ramp-up."""
import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
np.random.seed(0)

CFG = dict(steps=800, labelled=60, batch_l=20, batch_u=80, lr=2e-3, alpha=0.98, w_max=8.0, ramp=300)

data, target = load_digits(return_X_y=True)
x = torch.tensor(data, dtype=torch.float32).view(-1, 1, 8, 8) / 16
y = torch.tensor(target)
order = torch.randperm(len(x))
test_idx, pool = order[:500], order[500:]
lab_idx = torch.cat([pool[y[pool] == c][: CFG["labelled"] // 10] for c in range(10)])


def net():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Dropout(0.3), nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(),
                         nn.Dropout(0.3), nn.Linear(64, 10))


def augment(b):
    dx, dy = np.random.randint(-1, 2, 2)
    b = torch.roll(b, (int(dx), int(dy)), (2, 3))
    return b + 0.1 * torch.randn_like(b)


student = net()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=CFG["lr"])


@torch.no_grad()
def accuracy(m):
    m.eval()
    acc = (m(x[test_idx]).argmax(1) == y[test_idx]).float().mean().item()
    m.train()
    return acc


for step in range(1, CFG["steps"] + 1):
    li = lab_idx[torch.randint(len(lab_idx), (CFG["batch_l"],))]
    ui = pool[torch.randint(len(pool), (CFG["batch_u"],))]
    sup = F.cross_entropy(student(augment(x[li])), y[li])
    with torch.no_grad():
        soft = F.softmax(teacher(augment(x[ui])), 1)
    cons = F.mse_loss(F.softmax(student(augment(x[ui])), 1), soft)
    w = CFG["w_max"] * math.exp(-5 * (1 - min(1, step / CFG["ramp"])) ** 2)
    loss = sup + w * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    a = min(1 - 1 / (step + 1), CFG["alpha"])
    with torch.no_grad():
        for tp, sp in zip(teacher.parameters(), student.parameters()):
            tp.lerp_(sp, 1 - a)
    if step % 100 == 0:
        print(f"step {step} sup {sup.item():.3f} cons {cons.item():.4f} w {w:.2f} "
              f"student {accuracy(student):.3f} teacher {accuracy(teacher):.3f}")
