"""Sharpness-aware minimisation inside Lightning with manual optimisation."""
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
SEED = 13
L.seed_everything(SEED)
torch.set_num_threads(1)


class SAMClassifier(L.LightningModule):
    def __init__(self, rho=0.1, lr=0.1):
        super().__init__()
        self.automatic_optimization = False
        self.rho, self.lr = rho, lr
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, 10),
        )

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        params = [p for p in self.parameters() if p.requires_grad]

        # 1: climb to the worst point in the neighbourhood
        opt.zero_grad()
        loss = F.cross_entropy(self(x), y)
        self.manual_backward(loss)
        norm = torch.stack([p.grad.norm() for p in params]).norm() + 1e-12
        steps = [p.grad * (self.rho / norm) for p in params]
        with torch.no_grad():
            for p, e in zip(params, steps):
                p.add_(e)

        # 2: gradient there, applied at the original place
        opt.zero_grad()
        self.manual_backward(F.cross_entropy(self(x), y))
        with torch.no_grad():
            for p, e in zip(params, steps):
                p.sub_(e)
        opt.step()
        self.log("loss", loss.detach(), on_epoch=True, on_step=False)

    def on_train_epoch_end(self):
        sch = self.lr_schedulers()
        sch.step()

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("acc", (self(x).argmax(1) == y).float().mean(), on_epoch=True)

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print({k: round(float(v), 4) for k, v in m.items()})

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)]


X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
Xa, Xb, ya, yb = train_test_split(X, torch.tensor(y), test_size=0.3, random_state=SEED)
tr = DataLoader(TensorDataset(Xa, ya), batch_size=32, shuffle=True)
va = DataLoader(TensorDataset(Xb, yb), batch_size=540)
trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
model = SAMClassifier()
trainer.fit(model, tr, va)
print("validation accuracy %.4f" % float(trainer.callback_metrics["acc"]))
