"""Checkpoints of everything, an average of the weights, and resuming where a checkpoint is."""

import copy
import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Waves(Dataset):
    def __init__(self, size):
        generator = np.random.default_rng(5)
        self.phase = generator.uniform(0, 6.28, size)
        self.label = generator.integers(0, 3, size)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, index):
        t = np.linspace(0, 6.28, 24) * (1 + self.label[index]) + self.phase[index]
        return {
            "signal": torch.tensor(np.sin(t), dtype=torch.float32),
            "label": int(self.label[index]),
        }


def main():
    set_seed(42)
    train_set, val_set = random_split(Waves(320), [256, 64])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)
    model = nn.Sequential(nn.Unflatten(1, (1, 24)), nn.Conv1d(1, 8, 5), nn.ReLU(), nn.Flatten(),
                          nn.Linear(160, 3))  # fmt: skip
    ema = copy.deepcopy(model)
    for parameter in ema.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    start = 0
    if os.path.exists("checkpoint.pt"):
        state = torch.load("checkpoint.pt")
        model.load_state_dict(state["model"])
        ema.load_state_dict(state["ema"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        start = state["epoch"] + 1
    best = 0.0
    for epoch in range(start, 6):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch["signal"]), batch["label"])
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for average, now in zip(ema.parameters(), model.parameters()):
                    average.lerp_(now, 0.05)
        scheduler.step()
        ema.eval()
        with torch.no_grad():
            right = [(ema(b["signal"]).argmax(1) == b["label"]).float().mean() for b in val_loader]
        best = max(best, float(sum(right) / len(right)))
        torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "epoch": epoch,
                    "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()},
                   "checkpoint.pt")  # fmt: skip


if __name__ == "__main__":
    main()
