# semi-supervised digits, 10% of the labels (Tarvainen & Valpola style)
import copy
import argparse
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--ema", type=float, default=0.98)
parser.add_argument("--labelled", type=int, default=150)
parser.add_argument("--consistency", type=float, default=2.0)
args = parser.parse_args()
torch.manual_seed(5)


def make_net():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(128, 10))


def noisy(x):
    return x + 0.1 * torch.randn_like(x)


d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
Y = torch.tensor(d.target)
order = torch.randperm(len(X))
X, Y = X[order], Y[order]
Xtest, Ytest = X[1300:], Y[1300:]
Xtrain, Ytrain = X[:1300], Y[:1300].clone()
Ytrain[args.labelled:] = -1          # label withheld
loader = DataLoader(TensorDataset(Xtrain, Ytrain), batch_size=100, shuffle=True)

student = make_net()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.03, momentum=0.9, nesterov=True, weight_decay=1e-4)
step = 0
for epoch in range(args.epochs):
    ramp = min(1.0, epoch / 15)
    student.train(); teacher.train()
    sup_sum = con_sum = 0.0
    for xb, yb in loader:
        s = student(noisy(xb))
        with torch.no_grad():
            t = teacher(noisy(xb))
        n_lab = (yb >= 0).sum().clamp(min=1)
        sup = F.cross_entropy(s, yb, ignore_index=-1, reduction="sum") / n_lab
        con = F.mse_loss(s.softmax(1), t.softmax(1))
        loss = sup + args.consistency * ramp * con
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        step += 1
        decay = min(args.ema, 1 - 1 / (step + 1))
        with torch.no_grad():
            for pt, ps in zip(teacher.parameters(), student.parameters()):
                pt.mul_(decay).add_(ps, alpha=1 - decay)
        sup_sum += sup.item(); con_sum += con.item()
    if epoch % 10 == 0 or epoch == args.epochs - 1:
        teacher.eval()
        with torch.no_grad():
            acc = (teacher(Xtest).argmax(1) == Ytest).float().mean().item()
        print(f"[{epoch:03d}] sup={sup_sum/len(loader):.3f} cons={con_sum/len(loader):.4f} w={args.consistency*ramp:.2f} teacher_acc={acc:.4f}")

print("final teacher accuracy", round(acc, 4))
