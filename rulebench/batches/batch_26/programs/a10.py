import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class DigitsData(L.LightningDataModule):
    def __init__(self, batch_size=64):
        super().__init__()
        self.batch_size = batch_size
        X, y = load_digits(return_X_y=True)
        X = torch.tensor((X - 8.0) / 8.0, dtype=torch.float32).reshape(-1, 1, 8, 8)
        y = torch.tensor(y)
        i_tr, i_te = train_test_split(range(len(y)), test_size=0.25, stratify=y, random_state=0)
        self.tr = TensorDataset(X[i_tr], y[i_tr])
        self.te = TensorDataset(X[i_te], y[i_te])

    def train_dataloader(self):
        return DataLoader(self.tr, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.te, 256)


class ConvNet(L.LightningModule):
    def __init__(self, max_lr, total_steps):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(96, 10))

    def forward(self, x):
        return self.body(x)

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

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking and self.current_epoch % 3 == 0:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch}: val_loss {m['val_loss']:.3f} val_acc {m['val_acc']:.3f}")

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr, momentum=0.9, weight_decay=5e-4)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.max_lr, total_steps=self.hparams.total_steps)
        return [opt], [sched]


def main():
    L.seed_everything(1)
    dm = DigitsData()
    epochs = 15
    model = ConvNet(max_lr=0.08, total_steps=epochs * len(dm.train_dataloader()))
    trainer = L.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, dm)
    res = trainer.validate(model, dm, verbose=False)[0]
    print("super-convergence result:", {k: round(v, 4) for k, v in res.items()})


if __name__ == "__main__":
    main()
