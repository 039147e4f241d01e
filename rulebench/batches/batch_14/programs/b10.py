"""CNN on small images with micro-batches, warm-up + cosine and gradient clipping."""
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(4, c), nn.GroupNorm(4, c)
        self.c1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.c2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        nn.init.zeros_(self.c2.weight)

    def forward(self, x):
        h = self.c1(F.relu(self.n1(x)))
        return x + self.c2(F.relu(self.n2(h)))


class ResNetTiny(nn.Module):
    def __init__(self, width=16, blocks=2, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(blocks)])
        self.fc = nn.Linear(width * 16, classes)

    def forward(self, x):
        return self.fc(F.avg_pool2d(self.blocks(self.stem(x)), 2).flatten(1))


def lr_at(step, warm, total):
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def groups(model, wd):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


@torch.no_grad()
def test(model, loader):
    model.eval()
    ok = n = 0
    for x, y in loader:
        ok += (model(x).argmax(1) == y).sum().item()
        n += len(y)
    return ok / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--micro", type=int, default=16)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--lr", type=float, default=6e-3)
    p.add_argument("--wd", type=float, default=0.01)
    a = p.parse_args()
    torch.manual_seed(0)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
    ds = TensorDataset(x, torch.tensor(d.target))
    tr, te = random_split(ds, [1400, len(ds) - 1400])
    loader = DataLoader(tr, batch_size=a.micro, shuffle=True, drop_last=True)
    test_loader = DataLoader(te, batch_size=256)

    model = ResNetTiny()
    opt = torch.optim.AdamW(groups(model, a.wd), lr=a.lr)
    per_epoch = len(loader) // a.accum
    total = per_epoch * a.epochs
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_at(s, 10, total))
    for ep in range(a.epochs):
        model.train()
        run = 0.0
        opt.zero_grad()
        for i, (xb, yb) in enumerate(loader):
            loss = F.cross_entropy(model(xb), yb, label_smoothing=0.1)
            (loss / a.accum).backward()
            run += loss.item()
            if (i + 1) % a.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
        print(f"epoch {ep + 1} loss {run / len(loader):.4f} lr {opt.param_groups[0]['lr']:.5f} test {test(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
