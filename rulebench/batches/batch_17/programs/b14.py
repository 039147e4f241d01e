"""Audio-like tone classification with a 1-D CNN in Lightning."""
import argparse
import logging
import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def synth(n, length, seed):
    """Four kinds of sounds: pure tone, two tones, chirp up, chirp down."""
    rng = np.random.default_rng(seed)
    t = np.arange(length) / length
    xs, ys = [], []
    for _ in range(n):
        c = rng.integers(4)
        f, ph = rng.uniform(8, 30), rng.uniform(0, 2 * np.pi)
        if c == 0:
            s = np.sin(2 * np.pi * f * t + ph)
        elif c == 1:
            s = 0.5 * (np.sin(2 * np.pi * f * t + ph) + np.sin(2 * np.pi * f * 2.3 * t))
        else:
            k = rng.uniform(10, 25) * (1 if c == 2 else -1)
            f0 = f if c == 2 else f + 25
            s = np.sin(2 * np.pi * (f0 * t + 0.5 * k * t ** 2) + ph)
        xs.append(s + 0.6 * rng.normal(size=length))
        ys.append(c)
    return torch.tensor(np.array(xs), dtype=torch.float32).unsqueeze(1), torch.tensor(ys)


class ToneNet(L.LightningModule):
    def __init__(self, lr=1e-2, width=16):
        super().__init__()
        self.save_hyperparameters()
        def block(i, o):
            return nn.Sequential(nn.Conv1d(i, o, 9, padding=4), nn.BatchNorm1d(o), nn.ReLU(), nn.MaxPool1d(4))
        self.body = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 2 * width))
        self.head = nn.Linear(2 * width * 4, 4)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        lr = self.trainer.optimizers[0].param_groups[0]["lr"]
        print(f"epoch {self.current_epoch} train {m['train_loss']:.4f} val {m['val_loss']:.4f} "
              f"acc {m['val_acc']:.3f} lr {lr:.2e}")

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        total = self.trainer.estimated_stepping_batches
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=self.hparams.lr, total_steps=total)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    L.seed_everything(0, verbose=False)
    train = TensorDataset(*synth(1600, 256, 0))
    val = TensorDataset(*synth(400, 256, 1))
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", devices=1, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(ToneNet(lr=args.lr), DataLoader(train, batch_size=64, shuffle=True), DataLoader(val, batch_size=200))


if __name__ == "__main__":
    main()
