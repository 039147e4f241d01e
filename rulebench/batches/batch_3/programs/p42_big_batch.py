"""
Small ConvNet, micro-batches of 16 (my GPU is tiny), effective batch 128.
SGD with warm restarts, evaluation with an exponential moving average of the weights.
"""
import copy
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0
ACCUM = 8
EPOCHS = 42


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(4, c), nn.ReLU(),
                                  nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(4, c))
        nn.init.zeros_(self.body[-1].weight)      # residual branch starts as identity

    def forward(self, x):
        return torch.relu(x + self.body(x))


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        hit = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return hit / len(loader.dataset)


def main():
    torch.manual_seed(SEED)
    np.random.seed(SEED)
    d = load_digits()
    x = torch.tensor(d.images / 8.0 - 1.0, dtype=torch.float32)[:, None]
    y = torch.tensor(d.target)
    tr, te = train_test_split(np.arange(len(y)), test_size=0.25, stratify=d.target, random_state=SEED)
    train = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=16, shuffle=True, drop_last=True)
    test = DataLoader(TensorDataset(x[te], y[te]), batch_size=128)

    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), Block(16), nn.MaxPool2d(2), Block(16),
                        nn.Flatten(), nn.Linear(256, 10))
    ema = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.SGD(net.parameters(), lr=0.15, momentum=0.9, nesterov=True, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=6, T_mult=2)
    crit = nn.CrossEntropyLoss()

    for epoch in range(EPOCHS):
        total, pending = 0.0, 0
        opt.zero_grad()
        for xb, yb in train:
            loss = crit(net(xb), yb) / ACCUM
            loss.backward()
            total += loss.item() * ACCUM
            pending += 1
            if pending == ACCUM:
                nn.utils.clip_grad_norm_(net.parameters(), 2.0)
                opt.step()
                opt.zero_grad()
                pending = 0
                with torch.no_grad():
                    for pe, p in zip(ema.parameters(), net.parameters()):
                        pe.lerp_(p, 0.1)
        sched.step()
        if epoch % 6 == 5:
            print(f"epoch {epoch+1} lr {opt.param_groups[0]['lr']:.4f} loss {total/len(train):.4f} "
                  f"raw {evaluate(net, test):.4f} ema {evaluate(ema, test):.4f}")


main()
