import warnings, logging
warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_diabetes

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(301)
X, y = load_diabetes(return_X_y=True)
perm = torch.randperm(len(X))
X = torch.tensor(X, dtype=torch.float32)[perm]
y = torch.tensor(y, dtype=torch.float32)[perm]
X = X / X[:320].std(0)
ym, ys = y[:320].mean(), y[:320].std()
t = (y - ym) / ys
train = DataLoader(TensorDataset(X[:320], t[:320]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(X[320:], t[320:]), batch_size=128)


class Reg(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, _):
        x, t = batch
        loss = nn.functional.mse_loss(self(x), t)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, t = batch
        self.log("val_loss", nn.functional.mse_loss(self(x), t))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train {float(m['train_loss']):.4f} val {float(m['val_loss']):.4f}")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=1e-3, weight_decay=1e-4)
        sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=3)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "monitor": "val_loss"}}


model = Reg()
trainer = L.Trainer(max_epochs=60, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False,
                    callbacks=[EarlyStopping("val_loss", patience=6)], num_sanity_val_steps=0)
trainer.fit(model, train, val)
model.eval()
with torch.no_grad():
    p = model(X[320:]) * ys + ym
print("R2 %.3f" % (1 - ((p - y[320:]) ** 2).sum() / ((y[320:] - y[320:].mean()) ** 2).sum()).item())
