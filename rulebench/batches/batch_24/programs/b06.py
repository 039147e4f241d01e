"""Denoising autoencoder for sensor windows, written with Lightning."""
import logging
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(10, verbose=False)


def make_windows(n, length=48):
    t = torch.linspace(0, 1, length)
    freq = torch.randint(1, 5, (n, 1)).float()
    phase = torch.rand(n, 1) * 6.283
    amp = 0.5 + torch.rand(n, 1)
    return amp * torch.sin(6.283 * freq * t + phase)


class DenoisingAE(L.LightningModule):
    def __init__(self, length=48, latent=8, lr=2e-3, noise=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(nn.Linear(length, 96), nn.GELU(), nn.Linear(96, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 96), nn.GELU(), nn.Linear(96, length))

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        noisy = x + self.hparams.noise * torch.randn_like(x)
        loss = F.mse_loss(self(noisy), x)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        clean, noisy = batch
        self.log("val_loss", F.mse_loss(self(noisy), clean))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs)
        return [opt], [sched]


class Printer(L.Callback):
    def on_train_epoch_end(self, trainer, module):
        m = trainer.callback_metrics
        print(f"epoch {trainer.current_epoch} train {m['train_loss']:.4f} val {m['val_loss']:.4f}")


train_x = make_windows(3000)
val_x = make_windows(500)
val_noisy = val_x + 0.3 * torch.randn_like(val_x)
train_dl = DataLoader(TensorDataset(train_x), batch_size=64, shuffle=True)
val_dl = DataLoader(TensorDataset(val_x, val_noisy), batch_size=250)

model = DenoisingAE()
trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, callbacks=[Printer()])
trainer.fit(model, train_dl, val_dl)
model.eval()
with torch.no_grad():
    print("noise mse", round(F.mse_loss(val_noisy, val_x).item(), 4),
          "denoised mse", round(F.mse_loss(model(val_noisy), val_x).item(), 4))
