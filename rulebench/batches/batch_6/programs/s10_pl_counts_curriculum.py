"""Poisson regression of counts; an easy-to-hard curriculum and OneCycle stepped per batch."""
import logging, warnings
warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, Sampler
import lightning as L

L.seed_everything(61)
g = np.random.default_rng(61)
n = 3000
X = g.uniform(-1, 1, (n, 6)).astype(np.float32)
exposure = g.uniform(0.5, 3, n).astype(np.float32)
rate = np.exp(0.8 * X[:, 0] - 0.6 * X[:, 1] ** 2 + 0.9 * X[:, 2] * X[:, 3])
y = g.poisson(rate * exposure).astype(np.float32)
Xt, et, yt, rt = (torch.from_numpy(np.asarray(a, np.float32)) for a in (X, exposure, y, rate))
difficulty = np.abs(X[:2400, 2] * X[:2400, 3])


class Curriculum(Sampler):
    def __init__(self, difficulty, epochs, batch):
        self.order, self.epochs, self.e = np.argsort(difficulty), epochs, 0

    def __len__(self):
        return 2400

    def __iter__(self):
        frac = min(1.0, 0.4 + self.e / (0.5 * self.epochs))
        self.e += 1
        pool = self.order[: int(frac * len(self.order))]
        return iter(np.random.choice(pool, 2400, replace=len(pool) < 2400).tolist())


class CountNet(L.LightningModule):
    def __init__(self, total):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
        self.loss = nn.PoissonNLLLoss(log_input=True, full=False)
        self.total = total

    def training_step(self, b, i):
        x, e, y = b
        loss = self.loss(self.f(x).squeeze(1) + e.log(), y)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def on_train_epoch_end(self):
        self.f.eval()
        with torch.no_grad():
            err = (self.f(Xt[2400:]).squeeze(1) - rt[2400:].log()).abs().mean()
        self.f.train()
        print(f"epoch {self.current_epoch} poisson nll {float(self.trainer.callback_metrics['loss']):.4f} log-rate error {err:.4f}")

    def configure_optimizers(self):
        o = torch.optim.AdamW(self.parameters(), lr=1e-3, weight_decay=1e-2)
        s = torch.optim.lr_scheduler.OneCycleLR(o, max_lr=6e-3, total_steps=self.total)
        return [o], [{"scheduler": s, "interval": "step"}]


E = 12
dl = DataLoader(TensorDataset(Xt[:2400], et[:2400], yt[:2400]), batch_size=64, sampler=Curriculum(difficulty, E, 64))
L.Trainer(max_epochs=E, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
          enable_model_summary=False, gradient_clip_val=1.0).fit(CountNet(E * len(dl)), dl)
print("constant predictor log-rate error %.4f" % (rt[2400:].log() - rt[:2400].mean().log()).abs().mean())
