"""Knowledge distillation on digits: a wide teacher, a tiny student.

usage: python distill.py --alpha 0.9 --T 4
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


def get_data(seed, n_student):
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    mk = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))
    return mk(Xtr, ytr), mk(Xtr[:n_student], ytr[:n_student]), mk(Xte, yte)


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


@torch.no_grad()
def accuracy(model, ds):
    model.eval()
    x, y = ds.tensors
    return (model(x).argmax(1) == y).float().mean().item()


def train_teacher(model, loader, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()
    return model


class DistillLoss(nn.Module):
    def __init__(self, T, alpha):
        super().__init__()
        self.T = T
        self.alpha = alpha
        self.kl = nn.KLDivLoss(reduction="batchmean")
        self.ce = nn.CrossEntropyLoss()

    def forward(self, student_logits, teacher_logits, y):
        soft_student = F.softmax(student_logits / self.T, dim=1)
        soft_teacher = F.softmax(teacher_logits / self.T, dim=1)
        soft = self.kl(soft_student, soft_teacher) * self.T ** 2
        hard = self.ce(student_logits, y)
        return self.alpha * soft + (1 - self.alpha) * hard, soft.detach(), hard.detach()


def train_student(student, teacher, loader, test_ds, args):
    opt = torch.optim.Adam(student.parameters(), lr=args.lr)
    loss_fn = DistillLoss(args.T, args.alpha)
    teacher.eval()
    for epoch in range(args.epochs):
        student.train()
        sums = torch.zeros(3)
        for x, y in loader:
            with torch.no_grad():
                t = teacher(x)
            opt.zero_grad()
            loss, soft, hard = loss_fn(student(x), t, y)
            loss.backward()
            opt.step()
            sums += torch.stack([loss.detach(), soft, hard])
        if (epoch + 1) % 5 == 0:
            s = sums / len(loader)
            print(f"epoch {epoch + 1:3d} loss {s[0]:.4f} soft {s[1]:.4f} hard {s[2]:.4f} test {accuracy(student, test_ds):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--T", type=float, default=4.0)
    ap.add_argument("--alpha", type=float, default=0.95)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    full, part, test = get_data(args.seed, 800)
    teacher = train_teacher(mlp([64, 256, 256, 10]), DataLoader(full, 64, shuffle=True), 25)
    print("teacher test accuracy", round(accuracy(teacher, test), 4))
    student = mlp([64, 16, 10])
    train_student(student, teacher, DataLoader(part, 32, shuffle=True), test, args)
    print("student test accuracy", round(accuracy(student, test), 4))
    with torch.no_grad():
        agree = (student(test.tensors[0]).argmax(1) == teacher(test.tensors[0]).argmax(1)).float().mean()
    print("agreement with teacher", round(agree.item(), 4))


if __name__ == "__main__":
    main()
