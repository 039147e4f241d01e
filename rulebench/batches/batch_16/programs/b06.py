"""Lightning module for a small tabular classifier with a decaying learning rate."""
import argparse
import logging
import warnings
import torch
from torch import nn
import lightning as L
from sklearn.datasets import make_classification
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class TabularData(L.LightningDataModule):
    def __init__(self, batch_size=64):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        X, y = make_classification(3200, 20, n_informative=10, n_classes=4, n_clusters_per_class=2,
                                   class_sep=1.3, random_state=0)
        X = torch.tensor(X, dtype=torch.float32)
        y = torch.tensor(y)
        m, s = X[:2560].mean(0), X[:2560].std(0)
        X = (X - m) / s
        self.train = TensorDataset(X[:2560], y[:2560])
        self.val = TensorDataset(X[2560:], y[2560:])

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=256)


class Classifier(L.LightningModule):
    def __init__(self, lr, step_size, gamma):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
        self.loss = nn.CrossEntropyLoss()
        self.correct = self.seen = 0

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.correct += (self(x).argmax(1) == y).sum().item()
        self.seen += len(y)

    def on_validation_epoch_end(self):
        lr = self.trainer.optimizers[0].param_groups[0]["lr"]
        print(f"epoch {self.current_epoch} val acc {self.correct / self.seen:.3f} lr {lr:.2e}")
        self.correct = self.seen = 0

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.StepLR(opt, self.hparams.step_size, self.hparams.gamma)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--step-size", type=int, default=4, help="epochs between two decays")
    ap.add_argument("--gamma", type=float, default=0.3)
    args = ap.parse_args()
    L.seed_everything(0)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Classifier(args.lr, args.step_size, args.gamma), TabularData())
    print("final train loss", float(trainer.callback_metrics["train_loss"]))
