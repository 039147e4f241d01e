"""CNN on digits: micro-batches, accumulated gradients, one-cycle learning rate."""
import argparse
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def loaders(micro):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target)
    p = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    tr, te = p[:1408], p[1408:]
    mean, std = x[tr].mean(), x[tr].std()
    x = (x - mean) / std
    return (DataLoader(TensorDataset(x[tr], y[tr]), batch_size=micro, shuffle=True, drop_last=True),
            DataLoader(TensorDataset(x[te], y[te]), batch_size=200))


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.GroupNorm(4, o), nn.ReLU())
        self.net = nn.Sequential(block(1, 16), block(16, 32), nn.MaxPool2d(2), block(32, 32),
                                 nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def test(model, dl):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in dl) / len(dl.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--micro", type=int, default=8)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--max-lr", type=float, default=0.1)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, val = loaders(args.micro)
    model = SmallCNN()
    crit = nn.CrossEntropyLoss(label_smoothing=0.05)
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.SGD([{"params": decay, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}],
                          lr=0.01, momentum=0.9, nesterov=True)
    updates = args.epochs * (len(train) // args.accum)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.max_lr, total_steps=updates + 1)
    for ep in range(1, args.epochs + 1):
        model.train()
        opt.zero_grad()
        seen = 0.0
        for k, (x, y) in enumerate(train, 1):
            loss = crit(model(x), y) / args.accum
            loss.backward()
            seen += loss.item() * args.accum
            if k % args.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                opt.step()
                opt.zero_grad()
                sched.step()
        print(f"epoch {ep} lr {sched.get_last_lr()[0]:.4f} loss {seen / len(train):.4f} test acc {test(model, val):.3f}")


if __name__ == "__main__":
    main()
