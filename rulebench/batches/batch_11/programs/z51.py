"""Residual MLP on the intertwined spirals problem."""
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def spirals(n, classes, turns, noise, g):
    xs, ys = [], []
    for c in range(classes):
        r = torch.linspace(0.1, 1, n)
        a = turns * 2 * math.pi * r + 2 * math.pi * c / classes + noise * torch.randn(n, generator=g)
        xs.append(torch.stack([r * a.cos(), r * a.sin()], 1))
        ys.append(torch.full((n,), c))
    return torch.cat(xs), torch.cat(ys)


class ResBlock(nn.Module):
    def __init__(self, dim, expand=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, dim * expand)
        self.down = nn.Linear(dim * expand, dim)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, d_in, dim, depth, n_out):
        super().__init__()
        self.stem = nn.Linear(d_in, dim)
        self.blocks = nn.ModuleList([ResBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, n_out)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(x)


class Batches:
    def __init__(self, x, y, bs, g):
        self.x, self.y, self.bs, self.g = x, y, bs, g

    def __iter__(self):
        perm = torch.randperm(len(self.x), generator=self.g)
        for i in range(0, len(perm), self.bs):
            j = perm[i:i + self.bs]
            yield self.x[j], self.y[j]


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--classes", type=int, default=4)
    ap.add_argument("--depth", type=int, default=4)
    ap.add_argument("--dim", type=int, default=48)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    xtr, ytr = spirals(300, a.classes, 1.0, 0.12, g)
    xte, yte = spirals(120, a.classes, 1.0, 0.12, g)
    model = ResMLP(2, a.dim, a.depth, a.classes)
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05},
                             {"params": plain, "weight_decay": 0.0}], lr=a.lr)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 30))
    for epoch in range(a.epochs):
        for x, y in Batches(xtr, ytr, 64, g):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            warm.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1} loss {loss.item():.3f} train {accuracy(model, xtr, ytr):.3f} test {accuracy(model, xte, yte):.3f}")


if __name__ == "__main__":
    main()
