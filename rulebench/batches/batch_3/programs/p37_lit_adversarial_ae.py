"""Adversarial autoencoder on digits, LightningModule with manual optimisation."""
import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 0
LATENT = 6


class AAE(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, LATENT))
        self.dec = nn.Sequential(nn.Linear(LATENT, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid())
        self.critic = nn.Sequential(nn.Linear(LATENT, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def configure_optimizers(self):
        o_ae = torch.optim.Adam([*self.enc.parameters(), *self.dec.parameters()], lr=1e-3)
        o_reg = torch.optim.Adam(self.enc.parameters(), lr=1e-3, betas=(0.5, 0.99))
        o_d = torch.optim.Adam(self.critic.parameters(), lr=1e-3, betas=(0.5, 0.99))
        return o_ae, o_reg, o_d

    def training_step(self, batch, batch_idx):
        x, = batch
        o_ae, o_reg, o_d = self.optimizers()

        rec = F.mse_loss(self.dec(self.enc(x)), x)
        o_ae.zero_grad()
        self.manual_backward(rec)
        o_ae.step()

        z = self.enc(x).detach()
        prior = torch.randn_like(z)
        d_loss = F.softplus(-self.critic(prior)).mean() + F.softplus(self.critic(z)).mean()
        o_d.zero_grad()
        self.manual_backward(d_loss)
        o_d.step()

        self.toggle_optimizer(o_reg)
        g_loss = F.softplus(-self.critic(self.enc(x))).mean()
        o_reg.zero_grad()
        self.manual_backward(g_loss)
        o_reg.step()
        self.untoggle_optimizer(o_reg)
        self.log_dict({"rec": rec, "d_loss": d_loss, "g_loss": g_loss}, on_epoch=True, on_step=False)

    def on_train_epoch_end(self):
        if self.current_epoch % 10 == 0:
            m = self.trainer.callback_metrics
            print(self.current_epoch, {k: round(v.item(), 4) for k, v in m.items()})


def main():
    L.seed_everything(SEED, verbose=False)
    x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
    train, test = x[:1400], x[1400:]
    model = AAE()
    trainer = L.Trainer(max_epochs=60, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DataLoader(TensorDataset(train), batch_size=64, shuffle=True))
    model.eval()
    with torch.no_grad():
        z = model.enc(test)
        err = F.mse_loss(model.dec(z), test).item()
    base = (test - train.mean(0)).pow(2).mean().item()
    print(f"test mse {err:.4f} (mean image {base:.4f}); code mean {z.mean():.2f} std {z.std():.2f}")


if __name__ == "__main__":
    main()
