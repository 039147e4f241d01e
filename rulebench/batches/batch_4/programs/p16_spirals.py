"""Three spirals with Lightning and the one cycle policy."""
import logging
import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 314


def spirals(n_per_arm=500, arms=3, noise=0.12):
    xs, ys = [], []
    for a in range(arms):
        r = np.linspace(0.15, 1, n_per_arm)
        theta = a * 2 * np.pi / arms + 8.0 * r + np.random.randn(n_per_arm) * noise
        xs.append(np.stack([r * np.sin(theta), r * np.cos(theta)], 1))
        ys.append(np.full(n_per_arm, a))
    return (torch.tensor(np.concatenate(xs), dtype=torch.float32),
            torch.tensor(np.concatenate(ys), dtype=torch.long))


class SpiralClassifier(L.LightningModule):
    def __init__(self, hidden=64, max_lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(),
                                 nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 3))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch + 1}: " + ", ".join(f"{k} {v:.3f}" for k, v in m.items()))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=self.hparams.max_lr,
            total_steps=self.trainer.estimated_stepping_batches)
        return [optimizer], [scheduler]


def main():
    L.seed_everything(SEED, verbose=False)
    x, y = spirals()
    train, val = random_split(TensorDataset(x, y), [1200, 300])
    trainer = L.Trainer(max_epochs=30, accelerator="cpu", logger=False,
                        enable_checkpointing=False, enable_progress_bar=False,
                        enable_model_summary=False, num_sanity_val_steps=0)
    model = SpiralClassifier()
    trainer.fit(model, DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=300))
    result = trainer.validate(model, DataLoader(val, batch_size=300), verbose=False)[0]
    print("validation accuracy %.3f, loss %.3f" % (result["val_acc"], result["val_loss"]))


if __name__ == "__main__":
    main()
