# knowledge distillation on digits: big teacher, small student, few labels
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = torch.tensor(d.target)
perm = torch.randperm(len(X))
tr, te = perm[:1300], perm[1300:]

teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
student = nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))


def acc(m):
    m.eval()
    with torch.no_grad():
        return (m(X[te]).argmax(1) == y[te]).float().mean().item()


def nll(m):
    with torch.no_grad():
        return F.cross_entropy(m(X[te]), y[te]).item()


opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for ep in range(15):
    teacher.train()
    for b in tr[torch.randperm(len(tr))].split(64):
        loss = F.cross_entropy(teacher(X[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
print("teacher acc", acc(teacher), "nll", nll(teacher))

T = 4.0
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
teacher.eval()
for ep in range(30):
    student.train()
    tot = 0
    for b in tr[torch.randperm(len(tr))].split(64):
        with torch.no_grad():
            t = teacher(X[b])
        s = student(X[b])
        loss = F.kl_div(F.softmax(s / T, dim=1), F.softmax(t / T, dim=1), reduction="batchmean") * T * T
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    if ep % 5 == 4:
        print("epoch", ep + 1, "kd loss", round(tot, 3), "student acc", round(acc(student), 3), "nll", round(nll(student), 3))
