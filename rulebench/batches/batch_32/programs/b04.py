import warnings, logging
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

L.seed_everything(12)
torch.set_num_threads(1)
EPOCHS = 12


class DigitsMLP(L.LightningModule):
    def __init__(self, steps_per_epoch, max_lr=0.15):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                 nn.Linear(64, 10))
        self.train_losses = []

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.train_losses.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        m = sum(self.train_losses) / len(self.train_losses)
        print(f"epoch {self.current_epoch} train_loss {m:.4f}")
        self.train_losses.clear()

    def validation_step(self, batch, _):
        x, y = batch
        acc = (self.net(x).argmax(-1) == y).float().mean()
        self.log("val_acc", acc)

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.max_lr, div_factor=100,
            epochs=EPOCHS, steps_per_epoch=self.hparams.steps_per_epoch)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched}}


X, y = load_digits(return_X_y=True)
X_tr, X_va, y_tr, y_va = train_test_split(X / 16.0, y, test_size=0.25, random_state=8)
ds = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))
train_dl = DataLoader(ds(X_tr, y_tr), batch_size=32, shuffle=True)
val_dl = DataLoader(ds(X_va, y_va), batch_size=512)

model = DigitsMLP(len(train_dl))
trainer = L.Trainer(max_epochs=EPOCHS, accelerator="cpu", devices=1, logger=False,
                    enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False)
trainer.fit(model, train_dl, val_dl)
print("val accuracy", float(trainer.callback_metrics["val_acc"]))
