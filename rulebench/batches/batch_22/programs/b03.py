import argparse
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=80)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


class MLP(nn.Module):
    def __init__(self, d_in, width, d_out):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_in, width), nn.LayerNorm(width), nn.GELU(),
            nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(),
            nn.Linear(width, d_out),
        )

    def forward(self, x):
        return self.net(x)


def evaluate(model, loader, dtype):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            pred = model(x.to(dtype)).float().argmax(1)
            correct += (pred == y).sum().item()
            total += len(y)
    return correct / total


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)

    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=args.seed)
    to_ds = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))
    train_loader = DataLoader(to_ds(Xtr, ytr), batch_size=args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(to_ds(Xte, yte), batch_size=256)

    dtype = torch.bfloat16
    model = MLP(64, args.width, 10).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    n_params = sum(p.numel() for p in model.parameters())
    print(f"{n_params} parameters, {len(train_loader)} batches per epoch")

    for epoch in range(args.epochs):
        model.train()
        t0 = time.time()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            out = model(x.to(dtype))
            loss = criterion(out.float(), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        if (epoch + 1) % 5:
            continue
        acc = evaluate(model, test_loader, dtype)
        print(f"epoch {epoch + 1:2d} loss {running / len(train_loader):.4f} "
              f"test acc {acc:.4f} ({time.time() - t0:.1f}s)")


if __name__ == "__main__":
    main()
