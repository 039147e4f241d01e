"""Image classification on 8x8 digits with an exponential moving average of the weights for evaluation."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        for p in self.model.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.b1 = Block(1, width)
        self.b2 = Block(width, 2 * width)
        self.b3 = Block(2 * width, 2 * width)
        self.fc = nn.Linear(2 * width, 10)

    def forward(self, x):
        x = F.max_pool2d(self.b1(x), 2)
        x = self.b3(self.b2(x))
        return self.fc(x.mean((2, 3)))


def load(batch_size, seed):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
    x = (x - 4.88) / 6.02
    y = torch.tensor(d.target)
    p = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[p], y[p]
    return (DataLoader(TensorDataset(x[:1300], y[:1300]), batch_size, shuffle=True, drop_last=True),
            DataLoader(TensorDataset(x[1300:], y[1300:]), 256))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss = hit = n = 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hit += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--decay", type=float, default=0.97)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, test = load(args.batch_size, 0)
    model = Net()
    ema = EMA(model, args.decay)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        run = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            ema.update(model)
            run += loss.item()
        vl, va = evaluate(ema.model, test)
        print(f"epoch {epoch + 1} train loss {run / len(train):.4f} test loss {vl:.4f} test acc {va:.4f}")


if __name__ == "__main__":
    main()
