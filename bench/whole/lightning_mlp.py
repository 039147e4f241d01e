"""Trains a multilayer perceptron by Lightning's Trainer, without a logger."""

import argparse
import time

import lightning as L  # noqa: N812
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitMLP(L.LightningModule):
    def __init__(self, features=64, hidden=256, classes=10, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(
            nn.Linear(features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        if batch_idx % 20 == 0:
            print(f"step {self.global_step}: loss {loss.item():.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Clock(L.Callback):
    """Times the steps after the first few, and keeps the last loss."""

    def __init__(self, warmup):
        self.warmup = warmup
        self.start = time.perf_counter()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):  # noqa: ARG002
        if trainer.global_step == self.warmup:
            self.start = time.perf_counter()
        self.loss = outputs["loss"]

    def on_train_end(self, trainer, pl_module):  # noqa: ARG002
        self.elapsed = time.perf_counter() - self.start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000, help="optimizer steps")
    args = parser.parse_args()

    L.seed_everything(42)
    x = torch.randn(6400, 64)
    y = (x @ torch.randn(64, 10)).argmax(dim=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

    warmup = max(1, min(20, args.steps // 10))
    clock = Clock(warmup)
    trainer = L.Trainer(
        max_steps=args.steps,
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[clock],
    )
    trainer.fit(LitMLP(), loader)
    print(f"steps_per_s={(args.steps - warmup) / clock.elapsed:.3f} loss={clock.loss.item()!r}")


if __name__ == "__main__":
    main()
