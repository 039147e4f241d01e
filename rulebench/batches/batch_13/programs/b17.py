"""Lightning with two optimizers: adversarial autoencoder, latent codes pushed towards N(0, I)."""
import argparse
import warnings
import torch
from torch import nn
import lightning as L
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")


class AAE(L.LightningModule):
    def __init__(self, latent=4, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.enc = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, latent))
        self.dec = nn.Sequential(nn.Linear(latent, 96), nn.ReLU(), nn.Linear(96, 64), nn.Sigmoid())
        self.disc = nn.Sequential(nn.Linear(latent, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
        self.bce = nn.BCEWithLogitsLoss()

    def configure_optimizers(self):
        ae = torch.optim.Adam([*self.enc.parameters(), *self.dec.parameters()], lr=self.hparams.lr)
        d = torch.optim.Adam(self.disc.parameters(), lr=self.hparams.lr)
        return ae, d

    def training_step(self, batch, batch_idx):
        x, = batch
        opt_ae, opt_d = self.optimizers()
        z = self.enc(x)
        rec = nn.functional.mse_loss(self.dec(z), x)
        fool = self.disc(z)
        loss = rec + 0.01 * self.bce(fool, torch.ones_like(fool))
        opt_ae.zero_grad()
        self.manual_backward(loss)
        opt_ae.step()

        real, fake = self.disc(torch.randn_like(z)), self.disc(z.detach())
        d_loss = 0.5 * (self.bce(real, torch.ones_like(real)) + self.bce(fake, torch.zeros_like(fake)))
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        self.log_dict({"rec": rec, "d_loss": d_loss}, on_epoch=True, on_step=False)

    def validation_step(self, batch, batch_idx):
        x, = batch
        z = self.enc(x)
        self.log_dict({"val_rec": nn.functional.mse_loss(self.dec(z), x), "z_mean": z.mean().abs(), "z_std": z.std(0).mean()})

    def on_validation_epoch_end(self):
        if self.trainer.sanity_checking or (self.current_epoch + 1) % 10:
            return
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch + 1}", {k: round(float(v), 4) for k, v in m.items()})


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()
    L.seed_everything(1, verbose=False)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    x = x[torch.randperm(len(x))]
    tr = DataLoader(TensorDataset(x[:1500]), batch_size=args.batch, shuffle=True)
    va = DataLoader(TensorDataset(x[1500:]), batch_size=300)
    print("pixel variance", round(x.var(0).mean().item(), 4))
    t = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False)
    t.fit(AAE(), tr, va)


if __name__ == "__main__":
    main()
