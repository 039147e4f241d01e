import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(13)
torch.set_num_threads(1)


class VAE(L.LightningModule):
    def __init__(self, latent=8, hidden=128, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.enc = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 64))

    def encode(self, x):
        h = self.enc(x)
        return self.to_mu(h), self.to_logvar(h)

    def step(self, batch):
        x, = batch
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        recon = F.binary_cross_entropy_with_logits(self.dec(z), x)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
        return recon, kl

    def training_step(self, batch, batch_idx):
        recon, kl = self.step(batch)
        self.log_dict({"recon": recon, "kl": kl}, on_step=False, on_epoch=True)
        return recon + kl

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch + 1}: recon {m['recon']:.4f}  kl {m['kl']:.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
x = x[torch.randperm(len(x))]
train, test = x[:1400], x[1400:]
model = VAE()
trainer = L.Trainer(max_epochs=40, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(train), batch_size=64, shuffle=True))

model.eval()
with torch.no_grad():
    mu, _ = model.encode(test)
    rec = torch.sigmoid(model.dec(mu))
print(f"test reconstruction MSE: {F.mse_loss(rec, test):.4f} (variance of the pixels {((test - train.mean(0)) ** 2).mean():.4f})")
