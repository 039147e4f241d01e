import warnings, logging
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch, lightning as L
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from sklearn.datasets import make_friedman1

L.seed_everything(0)


class Regressor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.loss = nn.MSELoss()

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", self.loss(self(x), y))

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            print(self.current_epoch, "train", round(m["train_loss"].item(), 4), "val", round(m["val_loss"].item(), 4))

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=3e-3)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.3)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "epoch"}}


X, y = make_friedman1(3000, noise=0.5, random_state=0)
y = (y - y.mean()) / y.std()
ds = TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
train, val, test = random_split(ds, [2000, 400, 600], generator=torch.Generator().manual_seed(0))

model = Regressor()
trainer = L.Trainer(max_epochs=25, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(train, batch_size=64, shuffle=True), DataLoader(val, batch_size=400))

model.eval()
xt, yt = test[:]
with torch.no_grad():
    mse = ((model(xt) - yt) ** 2).mean()
print("test R^2 = %.4f" % (1 - mse / yt.var()))
