import argparse
import logging
import warnings
import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
import numpy as np

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 9


class DeepClassifier(L.LightningModule):
    """MLP with a configurable number of hidden layers."""

    def __init__(self, n_in, n_out, hidden=12, depth=4, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.inp = nn.Linear(n_in, hidden)
        self.hidden_layers = [nn.Linear(hidden, hidden) for _ in range(depth)]
        self.out = nn.Linear(hidden, n_out)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for layer in self.hidden_layers:
            x = torch.relu(layer(x))
        return self.out(x)

    def training_step(self, batch, _):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Printer(L.Callback):
    def on_validation_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch % 5 == 0 and not trainer.sanity_checking:
            m = trainer.callback_metrics
            print(trainer.current_epoch, "val_loss %.4f val_acc %.4f" % (m["val_loss"], m["val_acc"]))


def spirals(n, rng):
    y = rng.integers(0, 3, n)
    r = rng.uniform(0.1, 1.0, n)
    a = 4.0 * r + y * 2 * np.pi / 3 + rng.normal(0, 0.12, n)
    return np.stack([r * np.cos(a), r * np.sin(a)], 1), y


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--depth", type=int, default=4)
    args = ap.parse_args()
    L.seed_everything(SEED, verbose=False)
    rng = np.random.default_rng(SEED)
    sets = []
    for n in (1500, 500):
        x, y = spirals(n, rng)
        sets.append(TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y)))
    model = DeepClassifier(2, 3, depth=args.depth)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, callbacks=[Printer()])
    trainer.fit(model, DataLoader(sets[0], 64, shuffle=True), DataLoader(sets[1], 500))
    print("val_acc", trainer.callback_metrics["val_acc"].item())
