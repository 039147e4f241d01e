import logging, warnings
import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")

SEED = 19
L.seed_everything(SEED, verbose=False)
rng = np.random.default_rng(SEED)


# ECG-like strips: the label is the ORDER of the two bumps in the strip and their polarity (4 classes)
def strips(n, length=80):
    t = np.arange(length)
    x = rng.normal(scale=0.35, size=(n, length))
    y = rng.integers(0, 4, n)
    for i in range(n):
        p1 = rng.integers(8, 35)
        p2 = rng.integers(45, 72)
        wide, narrow = (p1, p2) if y[i] % 2 == 0 else (p2, p1)
        sign = 1 if y[i] < 2 else -1
        x[i] += np.exp(-(t - wide) ** 2 / 40.0) + sign * np.exp(-(t - narrow) ** 2 / 5.0)
    return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y)


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 5, padding=2)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool1d(2)

    def forward(self, x):
        return self.pool(self.act(self.conv(x)))


class StripNet(L.LightningModule):
    def __init__(self, channels=(8, 8, 16, 16, 16), lr=2e-3):
        super().__init__()
        self.lr = lr
        sizes = (1,) + tuple(channels)
        self.blocks = [ConvBlock(i, o) for i, o in zip(sizes[:-1], sizes[1:])]
        self.head = nn.Linear(channels[-1] * 2, 4)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x.flatten(1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.log_dict({"val_loss": self.loss(out, y), "val_acc": (out.argmax(1) == y).float().mean()})

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print("epoch %2d | loss %.3f | val_loss %.3f | val_acc %.3f" % (
            self.current_epoch, m["loss"], m["val_loss"], m["val_acc"]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


net = StripNet()
train = DataLoader(TensorDataset(*strips(2500)), batch_size=50, shuffle=True)
val = DataLoader(TensorDataset(*strips(800)), batch_size=200)
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(net, train, val)
print("validation accuracy", round(trainer.validate(net, val, verbose=False)[0]["val_acc"], 4))
