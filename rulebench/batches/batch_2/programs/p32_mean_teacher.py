"""Mean teacher with few labels: 60 labelled digits, the rest unlabelled."""
import copy
import torch
import torch.nn.functional as F
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(9)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
order = torch.randperm(len(X))
X, y = X[order], y[order]
lab = torch.cat([torch.nonzero(y[:1400] == c).ravel()[:6] for c in range(10)])
te = slice(1400, None)

student = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
STEPS = 900
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)

for step in range(STEPS):
    li = lab[torch.randint(0, len(lab), (20,))]
    ui = torch.randint(0, 1400, (64,))
    lam = torch.distributions.Beta(0.5, 0.5).sample()
    lam = torch.maximum(lam, 1 - lam)
    pi = torch.randperm(20)
    xm = lam * X[li] + (1 - lam) * X[li][pi]
    out = student(xm)
    sup = lam * F.cross_entropy(out, y[li]) + (1 - lam) * F.cross_entropy(out, y[li][pi])
    noisy = lambda v: v + 0.15 * torch.randn_like(v)
    with torch.no_grad():
        tp = teacher(noisy(X[ui])).softmax(1)
    cons = F.mse_loss(student(noisy(X[ui])).softmax(1), tp)
    w = 8.0 * min(1.0, step / 300)
    loss = sup + w * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    with torch.no_grad():
        a = min(0.99, 1 - 1 / (step + 1))
        for pt, ps in zip(teacher.parameters(), student.parameters()):
            pt.mul_(a).add_(ps, alpha=1 - a)
    if step % 100 == 0 or step == STEPS - 1:
        student.eval(); teacher.eval()
        with torch.no_grad():
            s = (student(X[te]).argmax(1) == y[te]).float().mean().item()
            t = (teacher(X[te]).argmax(1) == y[te]).float().mean().item()
        student.train(); teacher.train()
        print(f"{step:4d} sup {sup.item():.3f} cons {cons.item():.5f} student {s:.3f} teacher {t:.3f}")
