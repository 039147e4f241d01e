import warnings; warnings.filterwarnings("ignore")
import logging; logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

L.seed_everything(8)


class DigitNet(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(48 * 16, 64), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(64, 10)
        self.history = []

    def forward(self, x):
        return self.head(self.body(x))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.history.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch} mean train loss {np.mean(self.history[-28:]):.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


d = load_digits()
x = torch.tensor(d.images / 16., dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
order = torch.randperm(len(x))
train, test = order[:1350], order[1350:]
dl = DataLoader(TensorDataset(x[train], y[train]), batch_size=48, shuffle=True)

net = DigitNet()
trainer = L.Trainer(max_epochs=14, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(net, dl)

# score the hold-out images one at a time, like the web service will
hits = 0
with torch.no_grad():
    for i in test:
        logits = net(x[i:i + 1])
        hits += int(logits.argmax(1) == y[i])
print(f"hold-out accuracy: {hits / len(test):.4f} ({hits}/{len(test)})")
