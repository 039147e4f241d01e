"""Lightning: the optimizer is given half of the model.

`configure_optimizers` was written before the encoder was added. The head learns, so the loss falls.

    stepwatch run examples/02_lightning.py

Found: `untrained_parameter`, with the names of the parameters. Mended by `self.parameters()`.
"""

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(pl.LightningModule):
    """An encoder and a head."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head = nn.Linear(32, 10)

    def training_step(self, batch):
        x, labels = batch
        loss = nn.functional.cross_entropy(self.head(self.encoder(x)), labels)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.head.parameters(), lr=1e-2)  # the mistake: and the encoder?


pl.seed_everything(0)
labels = torch.randint(0, 10, (1024,))
samples = torch.randn(10, 16)[labels] + 0.3 * torch.randn(1024, 16)
loader = DataLoader(TensorDataset(samples, labels), batch_size=32, shuffle=True)
trainer = pl.Trainer(max_epochs=2, logger=False, enable_checkpointing=False, accelerator="cpu")
trainer.fit(Classifier(), loader)
print(f"last loss {trainer.callback_metrics['train_loss']:.3f}")
