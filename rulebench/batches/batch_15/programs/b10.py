import logging
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(7)

X, y = load_breast_cancer(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=7, stratify=y)
sc = StandardScaler().fit(Xtr)
to = lambda a, b: TensorDataset(torch.tensor(sc.transform(a), dtype=torch.float32), torch.tensor(b, dtype=torch.float32))
train_dl = DataLoader(to(Xtr, ytr), batch_size=32, shuffle=True)
val_dl = DataLoader(to(Xte, yte), batch_size=64)


class TumorNet(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.binary_cross_entropy_with_logits(self(x), y)
        self.log("train_loss", loss)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.log("val_loss", F.binary_cross_entropy_with_logits(out, y), on_epoch=True)
        self.log("val_acc", ((out > 0).float() == y).float().mean(), on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


model = TumorNet()
trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, train_dl, val_dl)
print({k: round(v.item(), 4) for k, v in trainer.callback_metrics.items()})
