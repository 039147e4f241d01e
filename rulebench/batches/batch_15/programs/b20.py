"""GAN on a mixture of 6 Gaussians, Lightning with manual optimization."""
import argparse
import logging
import math
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
MODES = torch.tensor([[math.cos(2 * math.pi * i / 6), math.sin(2 * math.pi * i / 6)] for i in range(6)])


def mlp(i, o, h=96):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class GAN(L.LightningModule):
    def __init__(self, latent=4, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.g = mlp(latent, 2)
        self.d = mlp(2, 1)

    def noise(self, n):
        return torch.randn(n, self.hparams.latent, device=self.device)

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()

        fake = self.g(self.noise(len(real))).detach()
        d_loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake)).mean()
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()

        self.toggle_optimizer(opt_g)
        g_loss = F.softplus(-self.d(self.g(self.noise(len(real))))).mean()
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        opt_g.step()
        self.untoggle_optimizer(opt_g)
        self.log_dict({"d": d_loss, "g": g_loss}, on_step=False, on_epoch=True)

    def on_train_epoch_end(self):
        if (self.current_epoch + 1) % 5:
            return
        with torch.no_grad():
            s = self.g(self.noise(2000))
        dist, which = torch.cdist(s, MODES).min(1)
        good = dist < 0.2
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch + 1} d {m['d']:.3f} g {m['g']:.3f} close {good.float().mean():.3f} "
              f"modes {len(which[good].unique())}")

    def configure_optimizers(self):
        b = (0.5, 0.9)
        return (torch.optim.Adam(self.g.parameters(), lr=self.hparams.lr, betas=b),
                torch.optim.Adam(self.d.parameters(), lr=self.hparams.lr, betas=b))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    args = ap.parse_args()
    L.seed_everything(1)
    data = MODES[torch.randint(0, 6, (6000,))] + 0.05 * torch.randn(6000, 2)
    dl = DataLoader(TensorDataset(data), 128, shuffle=True, drop_last=True)
    L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
              enable_progress_bar=False, enable_model_summary=False).fit(GAN(), dl)


if __name__ == "__main__":
    main()
