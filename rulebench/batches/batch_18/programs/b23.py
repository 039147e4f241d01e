# knowledge distillation: student learns only from the teacher's soft labels
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = torch.tensor(d.target)
perm = torch.randperm(len(y))
tr, te = perm[:1300], perm[1300:]
T = 3.0


def mlp(h):
    return nn.Sequential(nn.Linear(64, h), nn.ReLU(), nn.Linear(h, 10))


def acc(m):
    m.eval()
    with torch.no_grad():
        return (m(X[te]).argmax(1) == y[te]).float().mean().item()


def batches(bs=64):
    p = tr[torch.randperm(len(tr))]
    return p.split(bs)


teacher = mlp(256)
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for epoch in range(20):
    for b in batches():
        opt.zero_grad()
        F.cross_entropy(teacher(X[b]), y[b]).backward()
        opt.step()
print("teacher acc", acc(teacher))

teacher.eval()
student = mlp(24)
opt = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(20):
    student.train()
    total = 0.0
    for b in batches():
        with torch.no_grad():
            teacher_probs = F.softmax(teacher(X[b]) / T, dim=1)
        student_logits = student(X[b])
        loss = F.kl_div(F.softmax(student_logits / T, dim=1), teacher_probs, reduction="batchmean") * T * T
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} distill loss {total / 21:.4f} student acc {acc(student):.3f}")
