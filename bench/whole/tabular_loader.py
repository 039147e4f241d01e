"""Trains on a synthetic table with a DataLoader, a schedule, clipped gradients and validation."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def make_data(rows=5120, columns=20):
    generator = torch.Generator().manual_seed(42)
    x = torch.randn(rows, columns, generator=generator)
    weights = torch.randn(columns, 1, generator=generator)
    y = x @ weights + torch.sin(3 * x[:, :1]) + 0.1 * torch.randn(rows, 1, generator=generator)
    return random_split(TensorDataset(x, y), [4096, rows - 4096], generator=generator)


def validate(model, loader, loss_fn):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for xb, yb in loader:
            total += loss_fn(model(xb), yb).item() * len(xb)
    model.train()
    return total / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000, help="optimizer steps")
    args = parser.parse_args()

    torch.manual_seed(42)
    train_set, valid_set = make_data()
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=256)

    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    warmup = max(1, min(20, args.steps // 10))
    step, epoch = 0, 0
    start = time.perf_counter()
    while step < args.steps:
        running, seen = 0.0, 0
        for xb, yb in train_loader:
            if step == warmup:
                start = time.perf_counter()
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            scheduler.step()
            running += loss.item() * len(xb)
            seen += len(xb)
            step += 1
            if step == args.steps:
                break
        valid_loss = validate(model, valid_loader, loss_fn)
        epoch += 1
        lr = scheduler.get_last_lr()[0]
        print(f"epoch {epoch}: train {running / seen:.4f} valid {valid_loss:.4f} lr {lr:.2e}")

    elapsed = time.perf_counter() - start
    print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")


if __name__ == "__main__":
    main()
