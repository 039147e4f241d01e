import logging, warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning.pytorch as pl
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(0)
torch.set_num_threads(1)


def spirals(n, k=3, seed=0):
    r = np.random.default_rng(seed)
    xs, ys = [], []
    for c in range(k):
        t = r.uniform(0.1, 1, n)
        ang = 7.5 * t + 2 * np.pi * c / k + r.normal(0, 0.08, n)
        xs.append(np.stack([t * np.cos(ang), t * np.sin(ang)], 1))
        ys.append(np.full(n, c))
    return torch.tensor(np.concatenate(xs), dtype=torch.float32), torch.tensor(np.concatenate(ys))


class LitSpiral(pl.LightningModule):
    def __init__(self, max_lr=0.2):
        super().__init__()
        self.save_hyperparameters()
        self.model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.model(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.model(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch:2d}  train {m['train_loss']:.4f}  val {m['val_loss']:.4f}  acc {m['val_acc']:.3f}")

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=self.hparams.max_lr, total_steps=self.trainer.estimated_stepping_batches)
        return [optimizer], [scheduler]


train_dl = DataLoader(TensorDataset(*spirals(500, seed=1)), batch_size=32, shuffle=True)
val_dl = DataLoader(TensorDataset(*spirals(200, seed=2)), batch_size=600)
trainer = pl.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(LitSpiral(), train_dl, val_dl)
