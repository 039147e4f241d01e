import logging
import warnings
import numpy as np
import torch
from torch import nn
import lightning as L
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 4


class Regressor(L.LightningModule):
    def __init__(self, n_in, lr=2e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.loss = nn.MSELoss()

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val", self.loss(self(x), y))

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 0:
            m = self.trainer.callback_metrics
            print(self.current_epoch, {k: round(float(v), 4) for k, v in m.items()})

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 10, 0.5)}


L.seed_everything(SEED, verbose=False)
X, y = make_friedman1(4000, n_features=10, noise=0.5, random_state=SEED)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, random_state=SEED)
ym, ys = y_tr.mean(), y_tr.std()
ds = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor((b - ym) / ys, dtype=torch.float32))
model = Regressor(10)
trainer = L.Trainer(max_epochs=40, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(ds(X_tr, y_tr), 64, shuffle=True), DataLoader(ds(X_va, y_va), 256))
model.eval()
with torch.no_grad():
    pred = model(torch.tensor(X_te, dtype=torch.float32)).numpy() * ys + ym
print("test R2 %.4f" % (1 - ((pred - y_te) ** 2).mean() / y_te.var()))
