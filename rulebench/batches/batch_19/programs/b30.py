import logging
import warnings
import lightning as pl
import torch
from lightning.pytorch.callbacks import EarlyStopping
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(17)

X, y = load_diabetes(return_X_y=True, scaled=False)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=17)
x_scaler = StandardScaler().fit(X_train)
y_scaler = StandardScaler().fit(y_train[:, None])


def dataset(a, b):
    return TensorDataset(torch.tensor(x_scaler.transform(a), dtype=torch.float32),
                         torch.tensor(y_scaler.transform(b[:, None]), dtype=torch.float32))


class Regressor(pl.LightningModule):
    def __init__(self, n_features, hidden=32, lr=1e-3, y_std=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(n_features, hidden), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(hidden, 1))
        self.loss = nn.MSELoss()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        self.log("val_loss", self.loss(pred, y))
        self.log("val_mae", (pred - y).abs().mean() * self.hparams.y_std)

    def on_train_epoch_end(self):
        if self.current_epoch % 3 == 0:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch} train {m['train_loss']:.3f} val {m['val_loss']:.3f} mae {m['val_mae']:.1f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


train_loader = DataLoader(dataset(X_train, y_train), batch_size=16, shuffle=True)
val_loader = DataLoader(dataset(X_val, y_val), batch_size=128)
model = Regressor(X.shape[1], lr=2e-3, y_std=float(y_scaler.scale_[0]))
trainer = pl.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False,
                     callbacks=[EarlyStopping("val_loss", patience=6)])
trainer.fit(model, train_loader, val_loader)
print("final", {k: round(float(v), 3) for k, v in trainer.callback_metrics.items()})
print("mean predictor mae", abs(y_val - y_train.mean()).mean())
