import logging, warnings
warnings.filterwarnings("ignore")
import torch, torch.nn as nn, torch.nn.functional as F
import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(23, verbose=False)

X, y = load_digits(return_X_y=True)
X = torch.tensor((X - 4.9) / 6.0, dtype=torch.float32).view(-1, 1, 8, 8)
y = torch.tensor(y)

class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
        nn.init.zeros_(self.nb.weight)   # block starts as the identity
    def forward(self, x):
        return F.relu(x + self.nb(self.b(F.relu(self.na(self.a(x))))))

class Net(pl.LightningModule):
    def __init__(self, max_lr=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
                                 ResBlock(12), nn.MaxPool2d(2), ResBlock(12), nn.Flatten(), nn.Linear(192, 10))
    def training_step(self, b, i):
        loss = F.cross_entropy(self.net(b[0]), b[1], label_smoothing=0.05)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss
    def validation_step(self, b, i):
        self.log("acc", (self.net(b[0]).argmax(1) == b[1]).float().mean())
    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
        s = torch.optim.lr_scheduler.OneCycleLR(opt, self.hparams.max_lr, total_steps=int(self.trainer.estimated_stepping_batches))
        return [opt], [{"scheduler": s, "interval": "step"}]

class Show(Callback):
    def on_train_epoch_end(self, tr, m):
        c = tr.callback_metrics
        print(f"epoch {tr.current_epoch} loss {c['loss']:.4f} acc {c['acc']:.4f} lr {tr.optimizers[0].param_groups[0]['lr']:.4f}")

trainer = pl.Trainer(max_epochs=8, accelerator="cpu", accumulate_grad_batches=2, gradient_clip_val=2.0, logger=False,
                     enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, callbacks=[Show()])
trainer.fit(Net(), DataLoader(TensorDataset(X[:1440], y[:1440]), batch_size=16, shuffle=True, drop_last=True),
            DataLoader(TensorDataset(X[1440:], y[1440:]), batch_size=357))
