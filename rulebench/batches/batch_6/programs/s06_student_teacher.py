# Knowledge distillation on digits: big MLP -> tiny MLP trained on few labels
import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(1)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32); y = torch.tensor(y)
itr, ite = train_test_split(range(len(X)), test_size=400, random_state=1)
Xtr, ytr, Xte, yte = X[itr], y[itr], X[ite], y[ite]
labelled = torch.randperm(len(Xtr))[:40]

teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
student = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 10))

def acc(m):
    m.eval()
    with torch.no_grad():
        return (m(Xte).argmax(1) == yte).float().mean().item()

opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for step in range(400):
    i = torch.randint(len(Xtr), (64,))
    loss = F.cross_entropy(teacher(Xtr[i]), ytr[i])
    opt_t.zero_grad(); loss.backward(); opt_t.step()
    if step % 100 == 0: print("teacher", step, round(loss.item(), 4))
print("teacher acc", acc(teacher))
teacher.eval()
for p in teacher.parameters(): p.requires_grad_(False)

T = 3.0
alpha = 0.9
opt_s = torch.optim.Adam(student.parameters(), lr=2e-3)
for step in range(1200):
    student.train()
    i = torch.randint(len(Xtr), (64,))
    s_logits, t_logits = student(Xtr[i]), teacher(Xtr[i])
    soft = F.kl_div(F.softmax(s_logits / T, dim=1), F.softmax(t_logits / T, dim=1), reduction="batchmean") * T * T
    hard = F.cross_entropy(student(Xtr[labelled]), ytr[labelled])
    loss = alpha * soft + (1 - alpha) * hard
    opt_s.zero_grad(); loss.backward(); opt_s.step()
    if step % 200 == 0: print(f"student {step} soft {soft.item():.4f} hard {hard.item():.4f}")
student.eval()
with torch.no_grad():
    nll = F.cross_entropy(student(Xte), yte).item()
print("student acc %.4f nll %.4f" % (acc(student), nll))
