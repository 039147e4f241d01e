import argparse
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.f = nn.Linear(32, 10)

    def forward(self, x):
        return self.f(self.c(x).flatten(1))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1 - self.decay)


def main():
    from sklearn.datasets import load_digits
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--micro", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x / 16).float().view(-1, 1, 8, 8)
    y = torch.tensor(y)
    p = torch.randperm(len(x), generator=torch.Generator().manual_seed(5))
    x, y = x[p], y[p]
    xtr, ytr, xte, yte = x[:1400], y[:1400], x[1400:], y[1400:]
    model = Net()
    ema = EMA(model, 0.95)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for ep in range(args.epochs):
        model.train()
        perm = torch.randperm(len(xtr))
        chunks = perm.split(args.micro)
        opt.zero_grad()
        tot = 0.0
        for k, b in enumerate(chunks):
            group = min(args.accum, len(chunks) - k // args.accum * args.accum)
            loss = F.cross_entropy(model(xtr[b]), ytr[b])
            (loss / group).backward()
            tot += loss.item()
            if (k + 1) % args.accum == 0 or k + 1 == len(chunks):
                opt.step()
                opt.zero_grad()
                ema.update(model)
        model.eval()
        live = {k: v.clone() for k, v in model.state_dict().items()}
        with torch.no_grad():
            a = (model(xte).argmax(1) == yte).float().mean().item()
            model.load_state_dict(ema.shadow)
            e = (model(xte).argmax(1) == yte).float().mean().item()
        model.load_state_dict(live)
        print(f"{ep} loss {tot / len(chunks):.4f} live {a:.3f} ema {e:.3f}")


if __name__ == "__main__":
    main()
