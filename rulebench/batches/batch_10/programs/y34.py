import warnings, logging
warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(19)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32)
y = torch.tensor(y)
p = torch.randperm(len(X))
train = DataLoader(TensorDataset(X[p[:1400]], y[p[:1400]]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(X[p[1400:]], y[p[1400:]]), batch_size=128)


class LitMLP(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, t = batch
        loss = F.cross_entropy(self.net(x), t)
        self.manual_backward(loss)
        opt.step()
        self.log("train_loss", loss, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        x, t = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, t))
        self.log("val_acc", (out.argmax(1) == t).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} val_loss {float(m['val_loss']):.4f} val_acc {float(m['val_acc']):.4f}")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(LitMLP(), train, val)
