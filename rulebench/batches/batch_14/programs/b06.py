"""Adversarial autoencoder with manual optimisation in Lightning."""
import argparse
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class AAE(L.LightningModule):
    def __init__(self, latent=6, lr=2e-3, adv=0.002):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.enc, self.dec, self.disc = mlp(64, 128, latent), mlp(latent, 128, 64), mlp(latent, 64, 1)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        opt_ae, opt_d = self.optimizers()

        self.toggle_optimizer(opt_ae)
        z = self.enc(x)
        rec = F.mse_loss(torch.sigmoid(self.dec(z)), x)
        fool = F.binary_cross_entropy_with_logits(self.disc(z), torch.ones(len(x), 1))
        opt_ae.zero_grad()
        self.manual_backward(rec + self.hparams.adv * fool)
        opt_ae.step()
        self.untoggle_optimizer(opt_ae)

        self.toggle_optimizer(opt_d)
        prior = torch.randn_like(z)
        d_loss = 0.5 * (F.binary_cross_entropy_with_logits(self.disc(prior), torch.ones(len(x), 1))
                        + F.binary_cross_entropy_with_logits(self.disc(z.detach()), torch.zeros(len(x), 1)))
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        self.untoggle_optimizer(opt_d)
        self.log_dict({"rec": rec, "fool": fool, "disc": d_loss}, on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        z = self.enc(x)
        self.log("val_rec", F.mse_loss(torch.sigmoid(self.dec(z)), x))
        self.log("val_z_std", z.std(0).mean())

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            print(self.current_epoch + 1, {k: round(float(m[k]), 4) for k in ("rec", "fool", "disc", "val_rec", "val_z_std")})

    def configure_optimizers(self):
        ae = torch.optim.Adam([*self.enc.parameters(), *self.dec.parameters()], lr=self.hparams.lr)
        d = torch.optim.Adam(self.disc.parameters(), lr=self.hparams.lr, betas=(0.5, 0.999))
        return [ae, d]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch", type=int, default=64)
    a = ap.parse_args()
    L.seed_everything(0)
    x = torch.tensor(load_digits().data / 16, dtype=torch.float32)
    x = x[torch.randperm(len(x))]
    tr = DataLoader(TensorDataset(x[:1500]), batch_size=a.batch, shuffle=True)
    va = DataLoader(TensorDataset(x[1500:]), batch_size=512)
    L.Trainer(max_epochs=a.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
              enable_progress_bar=False, enable_model_summary=False).fit(AAE(), tr, va)
    print("mean image baseline", round(F.mse_loss(x[:1500].mean(0).expand(len(x) - 1500, -1), x[1500:]).item(), 4))


if __name__ == "__main__":
    main()
