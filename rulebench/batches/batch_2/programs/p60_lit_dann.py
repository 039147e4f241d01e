"""Domain-adversarial training with a gradient reversal layer (two domains, shifted moons)."""
import logging
import warnings
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_moons

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(22, verbose=False)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


class DANN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.feat = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.label = nn.Linear(16, 1)
        self.domain = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def training_step(self, batch, i):
        xs, ys, xt = batch
        lam = min(1.0, self.global_step / 300)
        fs, ft = self.feat(xs), self.feat(xt)
        bce = nn.functional.binary_cross_entropy_with_logits
        task = bce(self.label(fs).squeeze(1), ys)
        d = self.domain(Reverse.apply(torch.cat([fs, ft]), lam)).squeeze(1)
        dom = bce(d, torch.cat([torch.zeros(len(fs)), torch.ones(len(ft))]))
        self.log("task", task, on_epoch=True, on_step=False)
        self.log("dom", dom, on_epoch=True, on_step=False)
        return task + 0.3 * dom

    def on_train_epoch_end(self):
        with torch.no_grad():
            acc = lambda x, y: ((self.label(self.feat(x)).squeeze(1) > 0) == (y > 0.5)).float().mean().item()
            s, t = acc(Xs, Ys), acc(Xt, Yt)
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} task {m['task']:.3f} domain {m['dom']:.3f} acc source {s:.3f} target {t:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def moons(n, seed, shift):
    x, y = make_moons(n, noise=0.1, random_state=seed)
    x = torch.tensor(x, dtype=torch.float32)
    # columns 2-3 carry only the domain
    extra = torch.randn(n, 2) * 0.5 + shift
    return torch.cat([x, extra], 1), torch.tensor(y, dtype=torch.float32)


Xs, Ys = moons(1200, 0, -0.6)
Xt, Yt = moons(1200, 1, 0.6)
dl = DataLoader(TensorDataset(Xs, Ys, Xt), batch_size=60, shuffle=True)
L.Trainer(max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
          enable_model_summary=False).fit(DANN(), dl)
