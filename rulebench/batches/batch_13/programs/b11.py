import torch
from torch import nn
import lightning as L
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import make_classification

L.seed_everything(0)
X, y = make_classification(n_samples=1500, n_features=20, n_informative=8, n_classes=3, class_sep=1.5, random_state=0)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
train_dl = DataLoader(TensorDataset(X[:1200], y[:1200]), batch_size=32, shuffle=True)
val_dl = DataLoader(TensorDataset(X[1200:], y[1200:]), batch_size=100)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.log("val_loss", self.loss(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


model = Classifier()
trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False)
trainer.fit(model, train_dl, val_dl)
print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})
