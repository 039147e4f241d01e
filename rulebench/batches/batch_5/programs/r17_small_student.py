import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(99)
torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X / 16.0, y, test_size=0.25, stratify=y, random_state=1)
tens = lambda a, b: (torch.tensor(a, dtype=torch.float32), torch.tensor(b))
Xtr, ytr = tens(X_tr, y_tr)
Xte, yte = tens(X_te, y_te)
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=64, shuffle=True)

teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
student = nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))


def accuracy(m):
    m.eval()
    with torch.no_grad():
        return (m(Xte).argmax(1) == yte).float().mean().item()


# teacher
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for ep in range(20):
    teacher.train()
    for xb, yb in loader:
        opt.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        opt.step()
print("teacher accuracy", round(accuracy(teacher), 4))
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)

# student; hard labels are used only a little
TEMP, ALPHA = 4.0, 0.9
opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=10, T_mult=2)
for ep in range(30):
    student.train()
    tot = 0.0
    for xb, yb in loader:
        out = student(xb)
        with torch.no_grad():
            soft = F.softmax(teacher(xb) / TEMP, 1)
        kd = F.kl_div(F.log_softmax(out / TEMP, 1), soft, reduction="batchmean") * TEMP ** 2
        loss = ALPHA * kd + (1 - ALPHA) * F.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    lr = opt.param_groups[0]["lr"]
    sched.step()
    if ep % 3 == 0 or ep == 29:
        print(f"epoch {ep:2d} distill loss {tot / len(loader):.4f} lr {lr:.4f} acc {accuracy(student):.4f}")
