import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
import lightning.pytorch as pl
from sklearn.datasets import load_digits

pl.seed_everything(1234, workers=True)


class VAE(pl.LightningModule):
    def __init__(self, latent=8, beta=1.0):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.to_mu = nn.Linear(64, latent)
        self.to_logvar = nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
        self.beta = beta

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        std = torch.exp(0.5 * logvar)
        z = mu + std * torch.randn_like(std)
        return self.dec(z), mu, logvar

    def training_step(self, x, i):
        logits, mu, logvar = self(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
        kl = 0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = rec + self.beta * kl
        if self.global_step % 100 == 0:
            print(f"step {self.global_step}: loss {loss.item():.3f} (rec {rec.item():.3f})")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
dl = DataLoader(x, batch_size=64, shuffle=True, drop_last=True)
trainer = pl.Trainer(max_epochs=25, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
vae = VAE()
trainer.fit(vae, dl)
with torch.no_grad():
    rec = torch.sigmoid(vae.dec(vae.to_mu(vae.enc(x))))
print("reconstruction mse:", F.mse_loss(rec, x).item(), "  baseline (mean image):", x.var(0, unbiased=False).mean().item())
