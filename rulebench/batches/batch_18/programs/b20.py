"""Keyword spotting on synthetic tones: log-spectrogram + 1d conv net."""
import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

SR = 2000


class ToneWords(Dataset):
    """Every class is a pair of tones played one after another, with noise and random onset."""

    PAIRS = [(150, 300), (300, 150), (220, 440), (440, 220), (330, 180), (180, 330)]

    def __init__(self, n, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        t = torch.arange(SR // 4) / SR
        for _ in range(n):
            k = int(torch.randint(len(self.PAIRS), (1,), generator=g))
            f1, f2 = self.PAIRS[k]
            jit = 1 + 0.05 * torch.randn(1, generator=g)
            sig = torch.cat([torch.sin(2 * math.pi * f1 * jit * t), torch.sin(2 * math.pi * f2 * jit * t)])
            wav = 0.8 * torch.randn(SR, generator=g)
            start = int(torch.randint(0, SR - len(sig), (1,), generator=g))
            wav[start:start + len(sig)] += sig
            spec = torch.stft(wav, 128, 64, window=torch.hann_window(128), return_complex=True).abs()
            self.items.append((torch.log(spec + 1e-3), k))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class ConvNet(nn.Module):
    def __init__(self, n_freq=65, n_classes=6, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(n_freq, width, 3, padding=1), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 3, padding=1, stride=2), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 3, padding=1, stride=2), nn.BatchNorm1d(width), nn.ReLU(),
        )
        self.head = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.head(self.body(x).amax(-1))


def evaluate(model, loader):
    model.eval()
    good = total = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return good / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--decay", type=float, default=0.85, help="learning rate decay factor")
    args = ap.parse_args()
    torch.manual_seed(0)

    data = ToneWords(1200)
    train_set, test_set = random_split(data, [900, 300], generator=torch.Generator().manual_seed(1))
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, 100)

    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=args.decay)
    loss_fn = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        test_acc = evaluate(model, test_loader)
        print(f"epoch {epoch + 1:2d}  loss {total / len(train_loader):.4f}  test acc {test_acc:.3f}")


if __name__ == "__main__":
    main()
