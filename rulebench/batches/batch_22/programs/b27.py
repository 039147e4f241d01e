"""Sequence tagging with a BiGRU (Lightning)."""
import argparse

import lightning as L
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset


class BracketData(Dataset):
    """For every position: nesting depth (0-5) of a random bracket string with filler letters."""

    def __init__(self, n, length=30, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.zeros(n, length, dtype=torch.long)
        self.y = torch.zeros(n, length, dtype=torch.long)
        r = torch.rand(n, length, generator=g)
        fill = torch.randint(2, 12, (n, length), generator=g)
        for i in range(n):
            depth = 0
            for t in range(length):
                if r[i, t] < 0.25 and depth < 5:
                    self.x[i, t] = 0
                    depth += 1
                elif r[i, t] > 0.75 and depth > 0:
                    self.x[i, t] = 1
                    depth -= 1
                else:
                    self.x[i, t] = fill[i, t]
                self.y[i, t] = depth

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Tagger(L.LightningModule):
    def __init__(self, hidden=48, lr=5e-3, warmup=100):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(12, 24)
        self.gru = nn.GRU(24, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, 6)

    def forward(self, x):
        h, _ = self.gru(self.embed(x))
        return self.out(h)

    def _loss(self, batch):
        x, y = batch
        logits = self(x)
        acc = (logits.argmax(-1) == y).float().mean()
        return cross_entropy(logits.transpose(1, 2), y), acc

    def training_step(self, batch, batch_idx):
        loss, _ = self._loss(batch)
        self.log("train/loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        loss, acc = self._loss(batch)
        self.log_dict({"val/loss": loss, "val/acc": acc})

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        warm = self.hparams.warmup
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, (step + 1) / warm))
        return [opt], [sched]


class Report(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        m = {k: round(float(v), 4) for k, v in trainer.callback_metrics.items()}
        print("epoch", trainer.current_epoch, m)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch_size", type=int, default=32)
    a = ap.parse_args()
    L.seed_everything(17)
    train = DataLoader(BracketData(1200, seed=1), batch_size=a.batch_size, shuffle=True)
    val = DataLoader(BracketData(300, seed=2), batch_size=100)
    trainer = L.Trainer(max_epochs=a.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, gradient_clip_val=1.0, callbacks=[Report()])
    trainer.fit(Tagger(), train, val)


if __name__ == "__main__":
    main()
