import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

# knowledge distillation: large teacher, small student
torch.manual_seed(203)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32)
y = torch.tensor(y)
g = torch.randperm(len(X))
Xtr, ytr, Xte, yte = X[g[:1200]], y[g[:1200]], X[g[1200:]], y[g[1200:]]
teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
student = nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))


def acc(m):
    m.eval()
    with torch.no_grad():
        return (m(Xte).argmax(1) == yte).float().mean().item()


opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for epoch in range(12):
    teacher.train()
    for b in torch.randperm(1200).split(40):
        loss = F.cross_entropy(teacher(Xtr[b]), ytr[b])
        opt.zero_grad(); loss.backward(); opt.step()
print("teacher", acc(teacher))

teacher.eval()
T, alpha = 3.0, 0.7
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for epoch in range(30):
    student.train()
    tot = 0
    for b in torch.randperm(1200).split(40):
        with torch.no_grad():
            soft = F.softmax(teacher(Xtr[b]) / T, dim=1)
        out = student(Xtr[b])
        kd = F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(out, ytr[b])
        opt.zero_grad(); loss.backward(); opt.step()
        tot += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {tot / 30:.4f} student acc {acc(student):.4f}")
