"""Two optimizers in Lightning, stepped by hand."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def training_step(self, batch, batch_idx):
        (real,) = batch
        g, d = self.optimizers()
        loss, n = nn.functional.binary_cross_entropy_with_logits, len(real)
        fake = self.generator(torch.randn(n, 4))
        d_loss = loss(self.discriminator(real), torch.ones(n, 1))
        d_loss = d_loss + loss(self.discriminator(fake.detach()), torch.zeros(n, 1))
        d.zero_grad()
        self.manual_backward(d_loss)
        d.step()
        g_loss = loss(self.discriminator(fake), torch.ones(n, 1))
        g.zero_grad()
        self.manual_backward(g_loss)
        g.step()
        self.log_dict({"g_loss": g_loss, "d_loss": d_loss})

    def configure_optimizers(self):
        g = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
        return g, torch.optim.Adam(self.discriminator.parameters(), lr=1e-3)


L.seed_everything(3)
loader = DataLoader(TensorDataset(torch.randn(256, 2) + 2), batch_size=16, shuffle=True)
L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False,
          enable_checkpointing=False).fit(GAN(), loader)  # fmt: skip
