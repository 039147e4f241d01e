# mean teacher on two moons, 12 labels only
import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons

torch.manual_seed(2)
X, y = make_moons(1200, noise=0.1, random_state=0)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)
lab = torch.cat([(y[:800] == c).nonzero().flatten()[:6] for c in (0, 1)])
xl, yl = X[lab], y[lab]
xu = X[:800]
xt, yt = X[800:], y[800:]

student = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=2e-3)

steps = 1500
for it in range(steps):
    student.train()
    u = xu[torch.randint(0, 800, (128,))]
    sup = F.cross_entropy(student(xl + 0.1 * torch.randn_like(xl)), yl)
    with torch.no_grad():
        target = F.softmax(teacher(u + 0.25 * torch.randn_like(u)), 1)
    cons = F.mse_loss(F.softmax(student(u + 0.25 * torch.randn_like(u)), 1), target)
    w = 30 * np.exp(-5 * (1 - min(1, it / 600)) ** 2)
    loss = sup + w * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    d = min(0.99, 1 - 1 / (it + 1))
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), student.parameters()):
            a.mul_(d).add_(b, alpha=1 - d)
    if it % 250 == 249:
        student.eval()
        teacher.eval()
        with torch.no_grad():
            acc = [(m(xt).argmax(1) == yt).float().mean().item() for m in (student, teacher)]
        print(it + 1, "sup %.4f cons %.5f student %.3f teacher %.3f" % (sup.item(), cons.item(), *acc))
        teacher.train()
