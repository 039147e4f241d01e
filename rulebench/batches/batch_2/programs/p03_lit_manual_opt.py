import logging, warnings
warnings.filterwarnings("ignore")
import torch
from torch import nn
import lightning.pytorch as pl
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(5, verbose=False)

# manual optimisation because later there will be a second optimiser for the adversary
class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.body = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.head = nn.Linear(48, 10)
        self.ce = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.head(self.body(x))

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        loss = self.ce(self(x), y)
        self.manual_backward(loss)
        opt.step()
        self.log("train_loss", loss, on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", (self(x).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print("epoch %d  train_loss %.4f  val_acc %.3f" % (self.current_epoch, m["train_loss"], m["val_acc"]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, weight_decay=1e-4)

X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32); y = torch.tensor(y)
train = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=28, shuffle=True)
val = DataLoader(TensorDataset(X[1400:], y[1400:]), batch_size=397)
trainer = pl.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Classifier(), train, val)
