"""VAE on the 8x8 digits with Lightning; the weight of the KL term is warmed up over the first epochs."""
import logging
import warnings
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 5


class VAE(L.LightningModule):
    def __init__(self, latent=8, warmup_epochs=15, beta=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ELU(), nn.Linear(128, 64), nn.ELU(), nn.Linear(64, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ELU(), nn.Linear(64, 128), nn.ELU(), nn.Linear(128, 64))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=-1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar

    def terms(self, x):
        logits, mu, logvar = self(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1).mean()
        kl = 0.5 * (mu ** 2 + logvar.exp() - logvar - 1).sum(-1).mean()
        return rec, kl

    def training_step(self, batch, _):
        rec, kl = self.terms(batch[0])
        w = self.hparams.beta * min(1.0, self.current_epoch / self.hparams.warmup_epochs)
        loss = rec + w * kl
        self.log_dict({"train_loss": loss, "train_rec": rec, "train_kl": kl, "kl_weight": w}, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        rec, kl = self.terms(batch[0])
        self.log_dict({"val_rec": rec, "val_kl": kl, "val_elbo": -(rec + kl)})

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 0:
            m = {k: round(float(v), 3) for k, v in self.trainer.callback_metrics.items()}
            print(self.current_epoch, m)

    def configure_optimizers(self):
        return torch.optim.Adamax(self.parameters(), lr=4e-3)


def main():
    L.seed_everything(SEED)
    x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
    train, val = random_split(TensorDataset(x), [1500, len(x) - 1500])
    model = VAE()
    trainer = L.Trainer(max_epochs=60, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=20.0)
    trainer.fit(model, DataLoader(train, 64, shuffle=True), DataLoader(val, 297))
    print(trainer.validate(model, DataLoader(val, 297), verbose=False))


if __name__ == "__main__":
    main()
