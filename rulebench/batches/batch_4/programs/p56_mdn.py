"""Inverse problem with several answers per input: mixture density network in Lightning."""
import logging
import math
import warnings
import lightning as L
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 303


def make(n, rng):
    t = rng.uniform(0, 1, n)
    x = t + 0.3 * np.sin(2 * math.pi * t) + rng.uniform(-0.02, 0.02, n)
    z = rng.normal(size=(n, 3))                       # features without meaning
    return (torch.tensor(np.column_stack([x, z]), dtype=torch.float32), torch.tensor(t, dtype=torch.float32))


class MDN(L.LightningModule):
    def __init__(self, k=5, lr=3e-3):
        super().__init__()
        self.k, self.lr = k, lr
        self.net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3 * k))

    def nll(self, batch):
        x, t = batch
        pi, mu, ls = self.net(x).chunk(3, -1)
        ls = ls.clamp(-5, 3)
        comp = -0.5 * ((t[:, None] - mu) / ls.exp()) ** 2 - ls - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(pi.log_softmax(-1) + comp, -1).mean()

    def training_step(self, batch, _):
        loss = self.nll(batch)
        self.log("train_nll", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        self.log("val_nll", self.nll(batch), prog_bar=True)

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            lr = self.optimizers().param_groups[0]["lr"]
            print(f"epoch {self.current_epoch} train {m['train_nll']:.3f} val {m['val_nll']:.3f} lr {lr:.1e}")

    def configure_optimizers(self):
        opt = torch.optim.RMSprop(self.parameters(), lr=self.lr)
        sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=4)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "monitor": "val_nll"}}


if __name__ == "__main__":
    L.seed_everything(SEED)
    rng = np.random.default_rng(SEED)
    train = DataLoader(TensorDataset(*make(3000, rng)), 64, shuffle=True)
    val = DataLoader(TensorDataset(*make(1000, rng)), 1000)
    trainer = L.Trainer(max_epochs=40, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0)
    trainer.fit(MDN(), train, val)
    print("validation nll", float(trainer.callback_metrics["val_nll"]), "(a single uniform would have 0.0)")
