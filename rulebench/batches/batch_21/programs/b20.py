import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")


class DigitsModule(L.LightningDataModule):
    def __init__(self, batch_size=32):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        data = load_digits()
        x = torch.tensor(data.data, dtype=torch.float32) / 16
        y = torch.tensor(data.target)
        full = TensorDataset(x, y)
        self.train_set, self.val_set, self.test_set = random_split(
            full, [1197, 300, 300], generator=torch.Generator().manual_seed(1)
        )

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=100)

    def test_dataloader(self):
        return DataLoader(self.test_set, batch_size=100)


class Classifier(L.LightningModule):
    def __init__(self, lr=3e-4):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def _shared_eval(self, batch, prefix):
        x, y = batch
        logits = self(x)
        self.log(f"{prefix}_loss", F.cross_entropy(logits, y))
        self.log(f"{prefix}_acc", (logits.argmax(1) == y).float().mean())

    def validation_step(self, batch, batch_idx):
        self._shared_eval(batch, "val")

    def test_step(self, batch, batch_idx):
        self._shared_eval(batch, "test")

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch}: val_loss {m['val_loss']:.3f} val_acc {m['val_acc']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(1)
    dm = DigitsModule()
    model = Classifier()
    trainer = L.Trainer(
        max_epochs=40,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[EarlyStopping(monitor="val_acc", patience=3)],
    )
    trainer.fit(model, dm)
    print("stopped after", trainer.current_epoch, "epochs,", trainer.global_step, "steps")
    result = trainer.test(model, dm, verbose=False)[0]
    print("test accuracy:", round(result["test_acc"], 4))
