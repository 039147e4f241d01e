"""Compress a digits classifier: wide teacher -> narrow student, unlabeled transfer set."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def get_data():
    d = load_digits()
    x = torch.tensor(d.data, dtype=torch.float32) / 16
    y = torch.tensor(d.target)
    g = torch.Generator().manual_seed(0)
    p = torch.randperm(len(x), generator=g)
    x, y = x[p], y[p]
    return x[:1300], y[:1300], x[1300:], y[1300:]


def mlp(width, depth, dropout=0.0):
    layers, d = [], 64
    for _ in range(depth):
        layers += [nn.Linear(d, width), nn.ReLU(), nn.Dropout(dropout)]
        d = width
    return nn.Sequential(*layers, nn.Linear(d, 10))


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def train_teacher(model, x, y, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    dl = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    for _ in range(epochs):
        model.train()
        for xb, yb in dl:
            opt.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            opt.step()


def distill_loss(student_logits, teacher_logits, T):
    soft_targets = F.softmax(teacher_logits / T, dim=1)
    soft_pred = F.softmax(student_logits / T, dim=1)
    return F.kl_div(soft_pred, soft_targets, reduction="batchmean") * T * T


def train_student(student, teacher, x, args, xt, yt):
    opt = torch.optim.Adam(student.parameters(), lr=args.lr)
    dl = DataLoader(TensorDataset(x), batch_size=64, shuffle=True)
    teacher.eval()
    for ep in range(1, args.epochs + 1):
        student.train()
        tot = 0.0
        for (xb,) in dl:
            with torch.no_grad():
                t = teacher(xb)
            loss = distill_loss(student(xb), t, args.temperature)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        if ep % 5 == 0:
            print(f"student epoch {ep} loss {tot / len(dl):.4f} acc {accuracy(student, xt, yt):.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--temperature", type=float, default=4.0)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, y, xt, yt = get_data()
    teacher, student = mlp(256, 2, 0.2), mlp(16, 1)
    train_teacher(teacher, x, y, 20)
    print(f"teacher acc {accuracy(teacher, xt, yt):.3f}")
    train_student(student, teacher, x, args, xt, yt)


if __name__ == "__main__":
    main()
