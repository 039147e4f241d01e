"""Shared encoder with an age (regression) head and a group (classification) head."""
from dataclasses import dataclass
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split


@dataclass
class Config:
    n: int = 2400
    dim: int = 24
    groups: int = 6
    epochs: int = 12
    batch_size: int = 48
    lr: float = 1e-3
    w_reg: float = 1.0
    w_cls: float = 0.5


class FaceLike(Dataset):
    def __init__(self, cfg, seed=0):
        r = np.random.default_rng(seed)
        self.group = r.integers(0, cfg.groups, cfg.n)
        self.age = r.uniform(0, 1, cfg.n).astype(np.float32)
        centers = r.normal(0, 1, (cfg.groups, cfg.dim))
        direction = r.normal(0, 1, (2, cfg.dim))
        x = centers[self.group] + np.outer(np.sin(3 * self.age), direction[0]) + np.outer(np.cos(2 * self.age), direction[1])
        self.x = (x + r.normal(0, 0.8, x.shape)).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "age": self.age[i], "group": int(self.group[i])}


class MultiTaskNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(cfg.dim, 96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, 64), nn.ReLU())
        self.heads = nn.ModuleDict({"age": nn.Linear(64, 1), "group": nn.Linear(64, cfg.groups)})

    def forward(self, x):
        h = self.encoder(x)
        return {"age": self.heads["age"](h)[:, 0], "group": self.heads["group"](h)}


class MultiTaskLoss(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.terms = [("age", nn.SmoothL1Loss(beta=0.1), cfg.w_reg), ("group", nn.CrossEntropyLoss(), cfg.w_cls)]

    def forward(self, out, batch):
        parts = {}
        total = 0.0
        for name, fn, w in self.terms:
            parts[name] = fn(out[name], batch[name])
            total = w * parts[name]
        return total, parts


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    mae = acc = n = 0
    for b in loader:
        out = model(b["x"])
        mae += (out["age"] - b["age"]).abs().sum().item()
        acc += (out["group"].argmax(1) == b["group"]).sum().item()
        n += len(b["x"])
    return mae / n, acc / n


def main():
    cfg = Config()
    torch.manual_seed(7)
    ds = FaceLike(cfg)
    tr, va = random_split(ds, [int(0.8 * cfg.n), cfg.n - int(0.8 * cfg.n)], torch.Generator().manual_seed(0))
    tl, vl = DataLoader(tr, cfg.batch_size, shuffle=True), DataLoader(va, 256)
    model, crit = MultiTaskNet(cfg), MultiTaskLoss(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for ep in range(cfg.epochs):
        model.train()
        log = {"age": 0.0, "group": 0.0}
        for b in tl:
            loss, parts = crit(model(b["x"]), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            for k in log:
                log[k] += parts[k].item() / len(tl)
        mae, acc = evaluate(model, vl)
        print(f"ep {ep:2d} loss_age {log['age']:.4f} loss_group {log['group']:.4f} | val mae {mae:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
