"""Lightning with checkpoints, which goes on from the last one."""

import os

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv1d(1, 8, 3), nn.Linear(8, 2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.head(self.conv(x).relu().mean(-1)), y)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


L.seed_everything(2)
x = torch.randn(128, 1, 12)
loader = DataLoader(TensorDataset(x, (x.mean((1, 2)) > 0).long()), batch_size=16, shuffle=True)
callback = ModelCheckpoint(dirpath="checkpoints", save_last=True, every_n_train_steps=3)
last = "checkpoints/last.ckpt" if os.path.exists("checkpoints/last.ckpt") else None
trainer = L.Trainer(max_epochs=6, callbacks=[callback], accelerator="cpu", logger=False,
                    enable_progress_bar=False)  # fmt: skip
trainer.fit(Net(), loader, ckpt_path=last)
