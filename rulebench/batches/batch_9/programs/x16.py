import torch
import torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

L.seed_everything(21)
# rank the hidden factor of a nonlinear mixture
def make(n):
    z = torch.randn(n, 3)
    y = (torch.sin(2 * z[:, 0]) * z[:, 1] + z[:, 2] ** 2 > 0.7).long()
    x = torch.cat([z, torch.randn(n, 5)], 1)
    return TensorDataset(x, y)

class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x))

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        out = self(x)
        self.log("val_loss", nn.functional.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.head.parameters(), lr=3e-3)

model = Lit()
trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
val = DataLoader(make(500), batch_size=100)
trainer.fit(model, DataLoader(make(2000), batch_size=40, shuffle=True), val)
print({k: round(v.item(), 4) for k, v in trainer.callback_metrics.items()})
