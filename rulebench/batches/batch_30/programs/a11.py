import numpy as np
import torch
import torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(2)


def make_series(n=2400, length=48):
    """Predict the remaining useful life (0..1) of a bearing from a vibration envelope."""
    rng = np.random.default_rng(2)
    life = rng.uniform(0, 1, n)
    t = np.arange(length)
    freq = 0.05 + 0.15 * life + 0.01 * rng.normal(size=n)
    x = np.sin(2 * np.pi * (freq[:, None] * t + rng.uniform(0, 1, (n, 1))))
    x = x * (1 + 0.5 * rng.random((n, 1))) + 0.3 * rng.normal(size=(n, length))
    return torch.tensor(x, dtype=torch.float32).unsqueeze(-1), torch.tensor(life, dtype=torch.float32).unsqueeze(-1)


class RUL(L.LightningModule):
    def __init__(self, hidden=32, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out.mean(1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mae", (self(x) - y).abs().mean(), on_epoch=True)

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train_loss {m['train_loss']:.5f} val_mae {m['val_mae']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        # a bit smaller after every second pass over the data
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.8)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


if __name__ == "__main__":
    x, y = make_series()
    train = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=50, shuffle=True)
    val = DataLoader(TensorDataset(x[2000:], y[2000:]), batch_size=200)
    model = RUL()
    trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, train, val)
    out = trainer.validate(model, val, verbose=False)
    print("final validation MAE of life fraction:", round(out[0]["val_mae"], 4))
