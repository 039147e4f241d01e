import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(7)
X, y = load_wine(return_X_y=True)
Xtr, Xva, ytr, yva = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
mu, sd = Xtr.mean(0), Xtr.std(0)
mk = lambda a, b: TensorDataset(torch.tensor((a - mu) / sd, dtype=torch.float32), torch.tensor(b))
train_dl = DataLoader(mk(Xtr, ytr), batch_size=16, shuffle=True)
val_dl = DataLoader(mk(Xva, yva), batch_size=64)


class WineNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-3)


model = WineNet()
trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, train_dl, val_dl)
print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})
