import argparse
import random
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import Dataset, DataLoader
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Digits(Dataset):
    def __init__(self, images, labels, train):
        self.images = torch.tensor(images / 16.0, dtype=torch.float32).unsqueeze(1)
        self.labels = torch.tensor(labels, dtype=torch.long)
        self.train = train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        img = self.images[idx]
        if self.train:
            dx, dy = random.randint(-1, 1), random.randint(-1, 1)
            img = torch.roll(img, (dx, dy), dims=(1, 2))
        return img, self.labels[idx]


class SmallCNN(nn.Module):
    def __init__(self, num_classes=10, p=0.2):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Dropout(p), nn.Linear(32 * 4, 64), nn.ReLU(),
            nn.Linear(64, num_classes),
            nn.Softmax(dim=1),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running, seen = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
        seen += len(y)
    return running / seen


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    loss = correct = n = 0
    for x, y in loader:
        out = model(x)
        loss += criterion(out, y).item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, correct / n


def main():
    p = argparse.ArgumentParser(description="digits CNN")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.03)
    p.add_argument("--momentum", type=float, default=0.9)
    args = p.parse_args()
    set_seed(11)
    d = load_digits()
    xtr, xte, ytr, yte = train_test_split(d.images, d.target, test_size=0.25, stratify=d.target, random_state=0)
    train_loader = DataLoader(Digits(xtr, ytr, True), args.batch_size, shuffle=True)
    test_loader = DataLoader(Digits(xte, yte, False), 128)
    model = SmallCNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, [6], gamma=0.2)
    best = 0.0
    for epoch in range(1, args.epochs + 1):
        tl = train_one_epoch(model, train_loader, criterion, optimizer)
        vl, va = evaluate(model, test_loader, criterion)
        scheduler.step()
        best = max(best, va)
        print(f"[{epoch:02d}] train {tl:.4f}  test {vl:.4f}  acc {va:.4f}  best {best:.4f}")


if __name__ == "__main__":
    main()
