import torch
import torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
import logging
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

L.seed_everything(4)
torch.set_num_threads(1)


class LitDenoiser(L.LightningModule):
    def __init__(self, d=40, k=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, k))
        self.decoder = nn.Linear(k, d)

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        noisy = x + 0.1 * torch.randn_like(x)
        loss = nn.functional.mse_loss(self(noisy), x)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        self.log("val_loss", nn.functional.mse_loss(self(x), x))

    def on_validation_epoch_end(self):
        print(self.current_epoch, "val", float(self.trainer.callback_metrics.get("val_loss", float("nan"))))

    def configure_optimizers(self):
        return torch.optim.Adam(self.decoder.parameters(), lr=3e-3)


latent = torch.randn(1500, 5)
mix = torch.randn(5, 40)
data = torch.tanh(latent @ mix) + 0.02 * torch.randn(1500, 40)
train = DataLoader(TensorDataset(data[:1200]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(data[1200:]), batch_size=300)
model = LitDenoiser()
trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(model, train, val)
print("variance of data", data.var().item())
