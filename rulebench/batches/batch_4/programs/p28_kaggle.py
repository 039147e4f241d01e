#!/usr/bin/env python
# digit recognizer - baseline v7 (cosine warm restarts + EMA + bf16)
import copy
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold


class CFG:
    seed = 2023
    lr = 4e-3
    wd = 1e-2
    bs = 64
    epochs = 14          # 2 + 4 + 8
    ema_decay = 0.98
    smoothing = 0.1


SEED = CFG.seed
torch.manual_seed(SEED)
np.random.seed(SEED)


class Block(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.conv = nn.Conv2d(ci, co, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(co)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(Block(1, 16), Block(16, 32), nn.MaxPool2d(2), Block(32, 32))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 16, 10)

    def forward(self, x):
        return self.head(self.drop(self.trunk(x).flatten(1)))


class EMA:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        self.n = 0
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        self.n += 1
        d = min(self.decay, (1 + self.n) / (10 + self.n))
        for a, b in zip(self.module.state_dict().values(), model.state_dict().values()):
            if a.dtype.is_floating_point:
                a.mul_(d).add_(b, alpha=1 - d)
            else:
                a.copy_(b)


@torch.no_grad()
def valid(model, x, y):
    model.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
    return F.cross_entropy(out.float(), y).item(), (out.argmax(1) == y).float().mean().item()


d = load_digits()
X = torch.tensor(d.images / 16 - 0.3, dtype=torch.float32)[:, None]
Y = torch.tensor(d.target)
tr, va = next(StratifiedKFold(5, shuffle=True, random_state=SEED).split(d.images, d.target))
model = Net()
ema = EMA(model, CFG.ema_decay)
decay = [p for p in model.parameters() if p.ndim > 1]
no_decay = [p for p in model.parameters() if p.ndim <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": CFG.wd},
                         {"params": no_decay, "weight_decay": 0.0}], lr=CFG.lr)
steps = math.ceil(len(tr) / CFG.bs)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2 * steps, T_mult=2, eta_min=1e-5)

for ep in range(CFG.epochs):
    model.train()
    tot = 0
    for idx in torch.tensor(np.random.permutation(tr)).split(CFG.bs):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(X[idx])
        loss = F.cross_entropy(out.float(), Y[idx], label_smoothing=CFG.smoothing)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        ema.update(model)
        tot += loss.item() * len(idx)
    vl, acc = valid(model, X[va], Y[va])
    el, eacc = valid(ema.module, X[va], Y[va])
    print(f"ep {ep:2d} lr {sched.get_last_lr()[0]:.5f} trn {tot / len(tr):.4f} "
          f"val {vl:.4f} acc {acc:.4f} | ema {el:.4f} acc {eacc:.4f}")
