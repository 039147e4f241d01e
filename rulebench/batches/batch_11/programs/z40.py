"""Lightning image classifier with a one-cycle schedule."""
import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class DigitsData(L.LightningDataModule):
    def __init__(self, batch_size=32):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        d = load_digits()
        x = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
        y = torch.tensor(d.target)
        perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
        self.tr = TensorDataset(x[perm[:1300]], y[perm[:1300]])
        self.va = TensorDataset(x[perm[1300:]], y[perm[1300:]])

    def train_dataloader(self):
        return DataLoader(self.tr, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.va, 256)


class LitNet(L.LightningModule):
    def __init__(self, max_lr=0.1, momentum=0.9):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 10))
        self.history = []

    def training_step(self, batch, idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} " + " ".join(f"{k} {float(v):.4f}" for k, v in m.items()))

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr, momentum=self.hparams.momentum, weight_decay=5e-4)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, self.hparams.max_lr, total_steps=int(self.trainer.estimated_stepping_batches), div_factor=100)
        return [opt], [sched]


def main():
    L.seed_everything(3)
    model = LitNet()
    trainer = L.Trainer(max_epochs=5, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DigitsData())


if __name__ == "__main__":
    main()
