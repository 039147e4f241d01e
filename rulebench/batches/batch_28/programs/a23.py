# Mean-teacher semi-supervised learning: 100 labelled digits, the rest without labels (label -1).
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

SEED = 23
torch.manual_seed(SEED)

d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
Y = torch.tensor(d.target)
perm = torch.randperm(len(X))
X, Y = X[perm], Y[perm]
Xte, Yte, Xtr = X[1400:], Y[1400:], X[:1400]
Ytr = torch.full((1400,), -1)
for c in range(10):
    idx = (Y[:1400] == c).nonzero()[:10, 0]
    Ytr[idx] = c
lab = (Ytr >= 0).nonzero()[:, 0]
unl = (Ytr < 0).nonzero()[:, 0]
print(f"{len(lab)} labelled, {len(unl)} unlabelled")


def net():
    return nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(0.4),
                         nn.Linear(48 * 16, 64), nn.ReLU(), nn.Linear(64, 10))


def jitter(x):
    gain = 0.8 + 0.4 * torch.rand(len(x), 1, 1, 1)
    return gain * x + 0.15 * torch.randn_like(x)


student = net()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=1.5e-3)
STEPS, DECAY = 2000, 0.99


@torch.no_grad()
def acc(m):
    m.eval()
    a = (m(Xte).argmax(1) == Yte).float().mean().item()
    m.train()
    return a


for step in range(1, STEPS + 1):
    pick = torch.cat([lab[torch.randint(len(lab), (12,))], unl[torch.randint(len(unl), (52,))]])
    xb, yb = X[:1400][pick], Ytr[pick]
    out = student(jitter(xb))
    with torch.no_grad():
        soft = teacher(jitter(xb)).softmax(1)
    sup = F.cross_entropy(out, yb, ignore_index=-1)
    cons = F.mse_loss(out.softmax(1), soft)
    w = 8.0 * min(1.0, step / 400) ** 2
    loss = sup + w * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for pt, ps in zip(teacher.parameters(), student.parameters()):
            pt.mul_(DECAY).add_(ps, alpha=1 - DECAY)
    if step % 200 == 0:
        print(f"{step:4d} loss {loss.item():.4f} sup {sup.item():.4f} cons {cons.item():.5f} w {w:.1f} "
              f"student {acc(student):.3f} teacher {acc(teacher):.3f}")
print(f"teacher test accuracy {acc(teacher):.4f}")
