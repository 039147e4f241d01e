"""Distil an ensemble-sized MLP into a small student on the digits."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(31)
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=31, stratify=y)
sc = StandardScaler().fit(X_train)
X_train, X_test = [torch.tensor(sc.transform(a), dtype=torch.float32) for a in (X_train, X_test)]
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)


def batches(n, size):
    order = torch.randperm(n)
    for i in range(0, n, size):
        yield order[i:i + size]


@torch.no_grad()
def accuracy(net):
    net.eval()
    acc = (net(X_test).argmax(1) == y_test).float().mean().item()
    return acc


teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3),
                        nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for epoch in range(20):
    teacher.train()
    total = 0
    for idx in batches(len(X_train), 32):
        loss = F.cross_entropy(teacher(X_train[idx]), y_train[idx], label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"teacher epoch {epoch + 1}: loss {total / len(X_train):.4f} acc {accuracy(teacher):.4f}")

# student: only sees 20 labels per class, the rest comes from the teacher
labelled = torch.cat([torch.nonzero(y_train == c).flatten()[:20] for c in range(10)])
has_label = torch.zeros(len(X_train), dtype=torch.bool)
has_label[labelled] = True
teacher.eval()
teacher.requires_grad_(False)
student = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 10))
opt = torch.optim.SGD(student.parameters(), lr=0.3, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40)
T, alpha = 4.0, 0.8
for epoch in range(40):
    student.train()
    kd_sum = 0
    for idx in batches(len(X_train), 64):
        x = X_train[idx]
        s = student(x)
        soft = F.kl_div(F.log_softmax(s / T, 1), F.softmax(teacher(x) / T, 1),
                        reduction="batchmean") * T * T
        m = has_label[idx]
        hard = F.cross_entropy(s[m], y_train[idx][m]) if m.any() else s.sum() * 0
        loss = alpha * soft + (1 - alpha) * hard
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        opt.step()
        kd_sum += soft.item() * len(idx)
    sched.step()
    if epoch % 5 == 4:
        print(f"student epoch {epoch + 1}: kd {kd_sum / len(X_train):.4f} acc {accuracy(student):.4f}")
