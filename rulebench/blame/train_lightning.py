"""The same by the Trainer of Lightning."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from rulebench.blame.planted import BATCH, regression, seed


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, inputs):
        return self.net(inputs)

    def training_step(self, batch, _):
        inputs, targets = batch
        return nn.functional.mse_loss(self(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.01)


lightning.seed_everything(seed())
data = TensorDataset(*map(torch.from_numpy, regression(seed())))
trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, gradient_clip_val=1.0,
                            enable_checkpointing=False, enable_progress_bar=False)  # fmt: skip
trainer.fit(Regression(), DataLoader(data, batch_size=BATCH))
