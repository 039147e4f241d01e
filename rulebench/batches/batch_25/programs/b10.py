#!/usr/bin/env python
"""Stage 1: pre-train a backbone on digits 0-6.  Stage 2: frozen backbone + new head for 7-9 from a few examples."""
import io

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(11)
digits = load_digits()
X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
Y = torch.tensor(digits.target)


class Backbone(nn.Module):
    def __init__(self, width=96, out=32):
        super().__init__()
        self.fc1 = nn.Linear(64, width)
        self.bn1 = nn.BatchNorm1d(width)
        self.fc2 = nn.Linear(width, width)
        self.bn2 = nn.BatchNorm1d(width)
        self.fc3 = nn.Linear(width, out)

    def forward(self, x):
        x = torch.relu(self.bn1(self.fc1(x)))
        x = torch.relu(self.bn2(self.fc2(x)))
        return torch.relu(self.fc3(x))


class Classifier(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def run_epoch(model, params_opt, x, y, bs):
    total = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        if len(idx) < 2:
            continue
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        params_opt.zero_grad()
        loss.backward()
        params_opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


# ---------------------------------------------------------------- stage 1
src = Y < 7
model = Classifier(7)
wrapped = nn.DataParallel(model)
opt = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
for ep in range(40):
    l = run_epoch(wrapped, opt, X[src], Y[src], 64)
    if ep % 10 == 9:
        print("pretrain", ep, round(l, 4))
ckpt = io.BytesIO()
torch.save({"model": wrapped.state_dict(), "epoch": ep}, ckpt)
ckpt.seek(0)

# ---------------------------------------------------------------- stage 2
tgt_x, tgt_y = X[~src], Y[~src] - 7
g = np.random.RandomState(0)
order = torch.as_tensor(g.permutation(len(tgt_x)))
tgt_x, tgt_y = tgt_x[order], tgt_y[order]
few_x, few_y, test_x, test_y = tgt_x[:60], tgt_y[:60], tgt_x[60:], tgt_y[60:]

net = Classifier(3)
state = torch.load(ckpt, weights_only=True)["model"]
state = {k: v for k, v in state.items() if not k.endswith(("head.weight", "head.bias"))}  # other number of classes
net.load_state_dict(state, strict=False)
print("loaded checkpoint with %d tensors" % len(state))

for p in net.backbone.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(net.head.parameters(), lr=5e-3)
for ep in range(120):
    net.train()
    net.backbone.eval()
    l = run_epoch(net, opt, few_x, few_y, 15)
    if ep % 30 == 29:
        print("finetune", ep, round(l, 4))

net.eval()
with torch.no_grad():
    acc = (net(test_x).argmax(1) == test_y).float().mean().item()
print("few-shot test accuracy: %.3f" % acc)
