"""Sequence-to-sequence load forecasting with a GRU and scheduled sampling."""
from dataclasses import dataclass
import math
import numpy as np
import torch
from torch import nn


@dataclass
class Conf:
    history: int = 48
    horizon: int = 12
    hidden: int = 32
    batch: int = 64
    updates: int = 400
    lr: float = 5e-3
    seed: int = 77


c = Conf()
torch.manual_seed(c.seed)
rng = np.random.default_rng(c.seed)

t = np.arange(4000)
series = (10 + 3 * np.sin(2 * math.pi * t / 24) + 1.5 * np.sin(2 * math.pi * t / 168)
          + np.convolve(rng.normal(size=t.size), np.ones(5) / 5, mode="same") + 0.2 * rng.normal(size=t.size))
cut = 3200
mean, std = series[:cut].mean(), series[:cut].std()
z = torch.tensor((series - mean) / std, dtype=torch.float32)
train_series, test_series = z[:cut], z[cut - c.history:]


def windows(s, starts):
    idx = torch.as_tensor(starts)[:, None] + torch.arange(c.history + c.horizon)
    w = s[idx]
    return w[:, :c.history, None], w[:, c.history:]


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(1, c.hidden, batch_first=True)
        self.cell = nn.GRUCell(1, c.hidden)
        self.out = nn.Linear(c.hidden, 1)

    def forward(self, past, future=None, p_truth=0.0):
        _, h = self.encoder(past)
        h = h[0]
        inp = past[:, -1]
        preds = []
        for k in range(c.horizon):
            h = self.cell(inp, h)
            y = inp + self.out(h)
            preds.append(y)
            if future is not None and torch.rand(1).item() < p_truth:
                inp = future[:, k:k + 1]
            else:
                inp = y
        return torch.cat(preds, 1)


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=c.lr)
huber = nn.SmoothL1Loss(beta=0.5)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=150, gamma=0.4)
test_past, test_future = windows(test_series, np.arange(0, len(test_series) - c.history - c.horizon, 3))


def test_mae():
    model.eval()
    with torch.no_grad():
        return (model(test_past) - test_future).abs().mean().item() * std


naive = (test_past[:, -24:-12, 0] - test_future).abs().mean().item() * std
print(f"seasonal naive MAE {naive:.3f}")
for u in range(1, c.updates + 1):
    model.train()
    truth = max(0.0, 1.0 - u / (0.7 * c.updates))
    past, future = windows(train_series, rng.integers(0, cut - c.history - c.horizon, c.batch))
    loss = huber(model(past, future, truth), future)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if u % 50 == 0:
        print(f"update {u} truth ratio {truth:.2f} loss {loss.item():.4f} test MAE {test_mae():.3f}")
