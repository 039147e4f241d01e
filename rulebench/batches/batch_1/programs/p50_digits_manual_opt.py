"""Manual optimisation in Lightning: accumulation of 8 and a linear warm-up."""
import warnings; warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(44, verbose=False)


class Net(L.LightningModule):
    def __init__(self, accum=8):
        super().__init__()
        self.automatic_optimization = False
        self.accum = accum
        self.body = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.cls = nn.Linear(48, 10)

    def forward(self, x):
        return self.cls(self.body(x))

    def training_step(self, batch, batch_idx):
        opt, sch = self.optimizers(), self.lr_schedulers()
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.manual_backward(loss / self.accum)
        if (batch_idx + 1) % self.accum == 0 or self.trainer.is_last_batch:
            self.clip_gradients(opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            opt.step()
            opt.zero_grad()
            sch.step()
        if batch_idx % 100 == 0:
            print(f"epoch {self.current_epoch} batch {batch_idx} loss {loss.item():.4f}")

    def validation_step(self, batch, _):
        x, y = batch
        self.log("acc", (self(x).argmax(-1) == y).float().mean())

    def on_validation_epoch_end(self):
        print("   val acc", round(float(self.trainer.callback_metrics["acc"]), 4))

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        sch = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: min(1.0, (k + 1) / 40))
        return [opt], [sch]


d = load_digits()
order = torch.randperm(len(d.target))
x, y = torch.tensor(d.data / 16, dtype=torch.float32)[order], torch.tensor(d.target)[order]
tr = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=4, shuffle=True)
va = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=400)
L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
          enable_model_summary=False, num_sanity_val_steps=0).fit(Net(), tr, va)
