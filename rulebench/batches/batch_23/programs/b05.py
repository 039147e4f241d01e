"""Adversarial autoencoder on digits (two optimizers, manual optimization)."""
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class AAE(L.LightningModule):
    def __init__(self, latent=8, lr=1e-3, adv_weight=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 64))
        self.critic = nn.Sequential(nn.Linear(latent, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def configure_optimizers(self):
        ae_params = list(self.encoder.parameters()) + list(self.decoder.parameters())
        opt_ae = torch.optim.Adam(ae_params, lr=self.hparams.lr)
        opt_critic = torch.optim.Adam(self.critic.parameters(), lr=self.hparams.lr, betas=(0.5, 0.999))
        return opt_ae, opt_critic

    def training_step(self, batch, batch_idx):
        (x,) = batch
        opt_ae, opt_critic = self.optimizers()

        # autoencoder: reconstruct and fool the critic
        self.toggle_optimizer(opt_ae)
        z = self.encoder(x)
        recon = F.mse_loss(self.decoder(z), x)
        score = self.critic(z)
        loss_ae = recon + self.hparams.adv_weight * F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
        opt_ae.zero_grad()
        self.manual_backward(loss_ae)
        self.untoggle_optimizer(opt_ae)

        # critic: prior samples against codes
        self.toggle_optimizer(opt_critic)
        real = self.critic(torch.randn_like(z))
        fake = self.critic(z.detach())
        loss_c = (F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
                  + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake)))
        opt_critic.zero_grad()
        self.manual_backward(loss_c)
        opt_critic.step()
        self.untoggle_optimizer(opt_critic)

        self.log_dict({"recon": recon, "critic": loss_c}, on_step=False, on_epoch=True)

    def on_train_epoch_end(self):
        if (self.current_epoch + 1) % 5 == 0:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch + 1:3d} recon {m['recon']:.4f} critic {m['critic']:.4f}")


def main():
    L.seed_everything(0, verbose=False)
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16.0
    perm = torch.randperm(len(x))
    train, test = x[perm[:1500]], x[perm[1500:]]
    loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)

    model = AAE()
    trainer = L.Trainer(max_epochs=25, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, loader)

    model.eval()
    with torch.no_grad():
        codes = model.encoder(test)
        err = F.mse_loss(model.decoder(codes), test)
        base = F.mse_loss(train.mean(0).expand_as(test), test)
    print(f"test recon mse {err:.4f} (mean image {base:.4f}), code std {codes.std(0).mean():.3f}")


if __name__ == "__main__":
    main()
