import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
L.seed_everything(14)


def make_waves(n, length=40):
    """three classes: sine, square and sawtooth with random phase, frequency and noise"""
    rng = np.random.default_rng(14)
    label = rng.integers(0, 3, n)
    f = rng.uniform(1.5, 3.0, (n, 1))
    phase = rng.uniform(0, 1, (n, 1))
    t = (np.arange(length)[None] / length * f + phase) % 1.0
    sine = np.sin(2 * np.pi * t)
    square = np.where(t < 0.5, 1.0, -1.0)
    saw = 2 * t - 1
    x = np.choose(label[:, None], [sine, square, saw]) + rng.normal(0, 0.1, (n, length))
    return torch.tensor(x, dtype=torch.float32).unsqueeze(-1), torch.tensor(label)


class WaveClassifier(L.LightningModule):
    def __init__(self, hidden=32, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, num_layers=1)
        self.fc = nn.Linear(hidden, 3)

    def forward(self, x):               # x: (batch, time, channels)
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch}: train_loss {m['train_loss']:.4f} val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


X, y = make_waves(3000)
train = DataLoader(TensorDataset(X[:2400], y[:2400]), batch_size=40, shuffle=True)
val = DataLoader(TensorDataset(X[2400:], y[2400:]), batch_size=40)
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(WaveClassifier(), train, val)
