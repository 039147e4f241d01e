import logging, warnings
import torch
from torch import nn
import lightning as L
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)
L.seed_everything(123)


class LitAutoEncoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        (x,) = batch
        loss = nn.functional.mse_loss(self(x), x)
        self.manual_backward(loss)
        opt.step()
        self.log("train_loss", loss, on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        self.log("val_loss", nn.functional.mse_loss(self(x), x))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"Epoch {self.current_epoch}: train_loss={m['train_loss']:.5f} val_loss={m['val_loss']:.5f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32)
train = DataLoader(TensorDataset(X[:1400]), batch_size=50, shuffle=True)
val = DataLoader(TensorDataset(X[1400:]), batch_size=397)
model = LitAutoEncoder()
trainer = L.Trainer(max_epochs=25, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, train, val)
with torch.no_grad():
    z = model.encoder(X).numpy()
print("probe on codes: %.3f" % LogisticRegression(max_iter=2000).fit(z[:1400], y[:1400]).score(z[1400:], y[1400:]))
