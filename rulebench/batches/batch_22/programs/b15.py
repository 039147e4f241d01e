import lightning.pytorch as pl
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

pl.seed_everything(8)


class DigitsDM(pl.LightningDataModule):
    def __init__(self, keep, batch_size=32):
        super().__init__()
        self.keep, self.batch_size = list(keep), batch_size

    def setup(self, stage=None):
        d = load_digits()
        sel = np.isin(d.target, self.keep)
        x = torch.tensor(d.images[sel] / 16.0, dtype=torch.float32).unsqueeze(1)
        y = torch.tensor([self.keep.index(t) for t in d.target[sel]])
        n_val = len(x) // 5
        self.train_set, self.val_set = random_split(
            TensorDataset(x, y), [len(x) - n_val, n_val], torch.Generator().manual_seed(0))

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=256)


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU())


class Classifier(pl.LightningModule):
    def __init__(self, backbone=None, n_out=5, lr=2e-3):
        super().__init__()
        self.save_hyperparameters(ignore=["backbone"])
        self.transfer = backbone is not None
        self.backbone = backbone or make_backbone()
        self.head = nn.Linear(64, n_out)
        if self.transfer:
            self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(x))

    def on_fit_start(self):
        # adapt the output layer to the classes of the data module
        if self.transfer:
            n = len(self.trainer.datamodule.keep)
            self.head = nn.Linear(64, n)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train_loss {m['train_loss']:.4f} "
              f"val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        params = [p for p in self.parameters() if p.requires_grad]
        return torch.optim.Adam(params, lr=self.hparams.lr)


def trainer(epochs):
    return pl.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False)


if __name__ == "__main__":
    print("pre-training on digits 0-4")
    source = Classifier(n_out=5)
    trainer(4).fit(source, datamodule=DigitsDM(range(5)))
    print("transfer to digits 5-9")
    model = Classifier(backbone=source.backbone, lr=5e-3)
    trainer(10).fit(model, datamodule=DigitsDM(range(5, 10)))
