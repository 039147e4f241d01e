import logging, warnings
import numpy as np
import torch
from torch import nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(17)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.net(x)


class EnergyModel(L.LightningModule):
    """Predicts the heating load of a building from 10 design variables."""

    def __init__(self, n_in, width=24, depth=3, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.stem = nn.Linear(n_in, width)
        self.blocks = [Block(width) for _ in range(depth)]
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        h = self.stem(x)
        for b in self.blocks:
            h = b(h)
        return self.head(h).squeeze(-1)

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self(x), y))

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if self.current_epoch % 5 == 0:
            print(f"epoch {self.current_epoch}: val mse {m['val_loss']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


g = np.random.default_rng(17)
X = g.uniform(-1, 1, (3000, 10)).astype("float32")
y = (np.sin(3 * X[:, 0] * X[:, 1]) * 2 + np.abs(X[:, 2] + X[:, 3]) * 1.5 + X[:, 4] * X[:, 5] * 2
     + np.cos(4 * X[:, 6]) + 0.5 * X[:, 7] + g.normal(0, 0.1, 3000)).astype("float32")
y = (y - y.mean()) / y.std()
ds = TensorDataset(torch.tensor(X), torch.tensor(y))
train, val = random_split(ds, [2400, 600])

model = EnergyModel(10)
trainer = L.Trainer(max_epochs=40, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(model, DataLoader(train, 64, shuffle=True), DataLoader(val, 256))

model.eval()
with torch.no_grad():
    xv, yv = map(torch.stack, zip(*[val[k] for k in range(len(val))]))
    err = ((model(xv) - yv) ** 2).mean() / yv.var()
print(f"validation R2 = {1 - err.item():.4f}")
