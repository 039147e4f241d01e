"""Knowledge distillation: a wide teacher into a small student, few hard labels."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from torch.utils.data import DataLoader, TensorDataset


def get_data(seed):
    X, y = make_classification(6000, 30, n_informative=14, n_redundant=4, n_classes=8, n_clusters_per_class=2, class_sep=1.4, flip_y=0.0, random_state=seed)
    X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
    y = torch.tensor(y)
    return (X[:4500], y[:4500]), (X[4500:], y[4500:])


def mlp(width, depth, d=30, c=8):
    layers, n = [], d
    for _ in range(depth):
        layers += [nn.Linear(n, width), nn.ReLU()]
        n = width
    return nn.Sequential(*layers, nn.Linear(n, c))


class DistillLoss(nn.Module):
    def __init__(self, T, alpha):
        super().__init__()
        self.T, self.alpha = T, alpha

    def forward(self, student, teacher, y):
        soft_teacher = F.softmax(teacher / self.T, dim=1)
        soft_student = F.log_softmax(student / self.T, dim=1)
        kd = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * self.T ** 2
        return self.alpha * kd + (1 - self.alpha) * F.cross_entropy(student, y)


@torch.no_grad()
def accuracy(net, X, y):
    net.eval()
    return (net(X).argmax(1) == y).float().mean().item()


def fit(net, loader, val, epochs, lr, loss_fn, name):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for ep in range(epochs):
        net.train()
        tot = 0.0
        for x, y in loader:
            loss = loss_fn(net, x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        if ep % 3 == 2:
            print(f"{name} epoch {ep + 1} loss {tot / len(loader):.4f} val acc {accuracy(net, *val):.4f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--temperature", type=float, default=6.0)
    p.add_argument("--alpha", type=float, default=1.0)
    p.add_argument("--teacher-epochs", type=int, default=9)
    p.add_argument("--student-epochs", type=int, default=12)
    args = p.parse_args()
    torch.manual_seed(3)
    train, val = get_data(5)
    loader = DataLoader(TensorDataset(*train), 64, shuffle=True)
    teacher = mlp(256, 2)
    fit(teacher, loader, val, args.teacher_epochs, 1e-3, lambda n, x, y: F.cross_entropy(n(x), y), "teacher")
    teacher.eval().requires_grad_(False)
    student = mlp(24, 2)
    crit = DistillLoss(args.temperature, args.alpha)
    fit(student, loader, val, args.student_epochs, 3e-3, lambda n, x, y: crit(n(x), teacher(x), y), "student")
    agree = (student(val[0]).argmax(1) == teacher(val[0]).argmax(1)).float().mean().item()
    print(f"teacher {accuracy(teacher, *val):.4f} student {accuracy(student, *val):.4f} agreement {agree:.4f}")


if __name__ == "__main__":
    main()
