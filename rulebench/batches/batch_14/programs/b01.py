"""Distil a wide teacher into a small student."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


def mlp(*sizes, p=0.0):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(p)]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def get_data():
    d = load_digits()
    xtr, xte, ytr, yte = train_test_split(d.data / 16.0, d.target, test_size=0.25, random_state=0, stratify=d.target)
    t = lambda v: torch.tensor(v, dtype=torch.float32)
    return t(xtr), torch.tensor(ytr), t(xte), torch.tensor(yte)


def fit_teacher(model, x, y, epochs, lr=1e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model.train()
    for _ in range(epochs):
        for xb, yb in loader:
            opt.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            opt.step()
    return model


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


@torch.no_grad()
def cache_logits(teacher, x, batch_size):
    teacher.eval()
    return torch.cat([teacher(b) for b in x.split(batch_size)])


def kd_loss(student_logits, teacher_logits, y, T, alpha):
    soft = F.kl_div(F.log_softmax(student_logits / T, 1), F.softmax(teacher_logits / T, 1), reduction="batchmean") * T * T
    hard = F.cross_entropy(student_logits, y)
    return alpha * soft + (1 - alpha) * hard, soft, hard


def distil(student, teacher_logits, x, y, args):
    opt = torch.optim.Adam(student.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True)
    for ep in range(args.epochs):
        student.train()
        s = h = 0.0
        for i, (xb, yb) in enumerate(loader):
            tb = teacher_logits[i * args.batch_size:i * args.batch_size + len(xb)]
            loss, soft, hard = kd_loss(student(xb), tb, yb, args.T, args.alpha)
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += soft.item()
            h += hard.item()
        if ep % 5 == 4:
            print(f"student epoch {ep + 1} soft {s / len(loader):.4f} hard {h / len(loader):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--T", type=float, default=3.0)
    ap.add_argument("--alpha", type=float, default=0.9)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, y, xt, yt = get_data()
    teacher = fit_teacher(mlp(64, 256, 256, 10, p=0.3), x, y, 25)
    print("teacher test acc %.4f" % accuracy(teacher, xt, yt))
    logits = cache_logits(teacher, x, 256)
    student = mlp(64, 16, 10)
    distil(student, logits, x, y, args)
    print("student test acc %.4f" % accuracy(student, xt, yt))


if __name__ == "__main__":
    main()
