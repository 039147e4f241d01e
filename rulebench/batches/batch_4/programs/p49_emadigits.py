"""Digits classifier in Lightning with an exponential moving average of the weights."""
import logging
import warnings
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 64


class EMA(Callback):
    """keeps averaged weights and evaluates with them"""

    def __init__(self, decay=0.99):
        self.decay = decay
        self.shadow = None

    def on_fit_start(self, trainer, module):
        self.shadow = {k: v.detach().clone() for k, v in module.state_dict().items()}

    def on_train_batch_end(self, trainer, module, *args):
        with torch.no_grad():
            for k, v in module.state_dict().items():
                if v.dtype.is_floating_point:
                    self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)
                else:
                    self.shadow[k].copy_(v)

    def on_validation_epoch_start(self, trainer, module):
        module.load_state_dict(self.shadow)


class Net(L.LightningModule):
    def __init__(self, lr=5e-4):
        super().__init__()
        self.lr = lr
        self.body = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.ReLU(), nn.Dropout(0.2),
                                  nn.Linear(128, 128), nn.LayerNorm(128), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.body(x))

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
        if self.current_epoch % 5 == 4:
            print(f"epoch {self.current_epoch} " + " ".join(f"{k} {float(v):.4f}" for k, v in m.items()))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr, weight_decay=1e-2)


def main():
    L.seed_everything(SEED)
    d = load_digits()
    x = torch.tensor((d.data - 4.88) / 6.02, dtype=torch.float32)
    y = torch.tensor(d.target)
    xa, xb, ya, yb = train_test_split(x, y, test_size=0.3, stratify=d.target, random_state=SEED)
    train = DataLoader(TensorDataset(xa, ya), 64, shuffle=True)
    val = DataLoader(TensorDataset(xb, yb), 540)
    trainer = L.Trainer(max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
                        callbacks=[EMA(0.99)])
    trainer.fit(Net(), train, val)


if __name__ == "__main__":
    main()
