"""Knowledge distillation on the sklearn digits: train a teacher, then a small student."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Dropout(0.3), nn.Linear(32 * 16, 10))

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


class Student(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))

    def forward(self, x):
        return self.net(x)


class DistillLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.9):
        super().__init__()
        self.t = temperature
        self.alpha = alpha

    def forward(self, student_logits, teacher_logits, y):
        soft_s = F.softmax(student_logits / self.t, dim=1)
        soft_t = F.softmax(teacher_logits / self.t, dim=1)
        kd = F.kl_div(soft_s, soft_t, reduction="batchmean") * self.t ** 2
        ce = F.cross_entropy(student_logits, y)
        return self.alpha * kd + (1 - self.alpha) * ce


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hit = n = 0
    for x, y in loader:
        hit += (model(x).argmax(1) == y).sum().item()
        n += len(y)
    return hit / n


def train_teacher(model, loader, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()


def train_student(student, teacher, loader, test_loader, epochs):
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    crit = DistillLoss()
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    for ep in range(epochs):
        student.train()
        tot = n = 0
        for x, y in loader:
            with torch.no_grad():
                t_logits = teacher(x)
            loss = crit(student(x), t_logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(y)
            n += len(y)
        if ep % 3 == 2:
            print(f"student epoch {ep} loss {tot/n:.4f} test acc {accuracy(student, test_loader):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--teacher-epochs", type=int, default=8)
    ap.add_argument("--student-epochs", type=int, default=15)
    args = ap.parse_args()
    torch.manual_seed(0)
    d = load_digits()
    x = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target)
    itr, ite = train_test_split(range(len(y)), test_size=0.3, random_state=0, stratify=d.target)
    train = DataLoader(TensorDataset(x[itr], y[itr]), batch_size=32, shuffle=True)
    test = DataLoader(TensorDataset(x[ite], y[ite]), batch_size=256)
    teacher = Teacher()
    train_teacher(teacher, train, args.teacher_epochs)
    print(f"teacher test acc {accuracy(teacher, test):.4f}")
    train_student(Student(), teacher, train, test, args.student_epochs)


if __name__ == "__main__":
    main()
