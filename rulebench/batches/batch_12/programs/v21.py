import argparse
import numpy as np
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, d_in, d_hidden, n_cls, p=0.1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(d_in, d_hidden), nn.GELU(), nn.Dropout(p),
            nn.Linear(d_hidden, d_hidden), nn.GELU(), nn.Dropout(p))
        self.head = nn.Linear(d_hidden, n_cls)

    def forward(self, x):
        return self.head(self.body(x))


def make_data(seed, n=3000, d=20, k=5):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * 0.9
    y = rng.integers(0, k, n)
    x = centers[y] + rng.normal(size=(n, d))
    return torch.tensor(x).float(), torch.tensor(y).long()


def train_epoch(model, opt, x, y, batch_size, gen):
    model.train()
    order = torch.randperm(len(x), generator=gen)
    losses = []
    for start in range(0, len(x), batch_size):
        rows = order[start:start + batch_size]
        xb = x[rows]
        yb = y[start:start + batch_size]
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    return float(np.mean(losses))


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    out = model(x)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--batch-size", type=int, default=50)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x, y = make_data(args.seed)
    n_tr = 2400
    model = MLP(x.shape[1], 64, 5)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    gen = torch.Generator().manual_seed(args.seed)
    for ep in range(args.epochs):
        tl = train_epoch(model, opt, x[:n_tr], y[:n_tr], args.batch_size, gen)
        vl, va = evaluate(model, x[n_tr:], y[n_tr:])
        print(f"{ep:02d} train {tl:.4f} val {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    main()
