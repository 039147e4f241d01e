import warnings, logging
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, Dataset
from sklearn.datasets import load_digits

L.seed_everything(7)


class DigitSet(Dataset):
    def __init__(self, split, transform=None):
        d = load_digits()
        sl = slice(0, 1400) if split == "train" else slice(1400, None)
        self.x = d.data[sl].astype("float32")
        self.y = d.target[sl]
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = torch.from_numpy(self.x[i])
        if self.transform:
            x = self.transform(x)
        return x, int(self.y[i])


MEAN = torch.tensor(load_digits().data[:1400].mean(0)).float()
STD = torch.tensor(load_digits().data[:1400].std(0)).float() + 1e-1


def normalize(x):
    return (x - MEAN) / STD


class LitMLP(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.Linear(96, 48), nn.Tanh(), nn.Linear(48, 10))
        self.log_lines = []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        z = self.net(x)
        self.log("val_loss", F.cross_entropy(z, y))
        self.log("val_acc", (z.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(self.current_epoch, {k: round(float(v), 4) for k, v in m.items()})

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


train_loader = DataLoader(DigitSet("train", transform=normalize), batch_size=32, shuffle=True)
val_loader = DataLoader(DigitSet("val"), batch_size=64)
trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(LitMLP(), train_loader, val_loader)
print("final", trainer.callback_metrics)
