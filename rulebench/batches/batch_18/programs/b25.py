# lightning: heart-beat like signals, conv net, imbalanced classes with weights in the loss
import lightning as L
import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(0)
rng = np.random.default_rng(0)


def beats(n):
    y = rng.choice(3, n, p=[0.8, 0.13, 0.07])
    t = np.linspace(-1, 1, 96)
    x = np.exp(-((t - rng.uniform(-0.2, 0.2, (n, 1))) / np.where(y == 1, 0.16, 0.08)[:, None]) ** 2)
    x += np.where(y == 2, -0.5, 0.3)[:, None] * np.exp(-((t - 0.5) / 0.12) ** 2)
    x += 0.2 * rng.normal(size=x.shape)
    return torch.tensor(x, dtype=torch.float32).unsqueeze(1), torch.tensor(y)


xtr, ytr = beats(2000)
xva, yva = beats(600)
counts = torch.bincount(ytr).float()
weights = counts.sum() / (3 * counts)


class BeatNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 12, 7, padding=3), nn.ReLU(), nn.MaxPool1d(4),
                                 nn.Conv1d(12, 24, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(),
                                 nn.Linear(96, 3))
        self.register_buffer("w", weights)
        self.preds = []

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y, weight=self.w)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        logits = self.net(x)
        self.preds.append((logits.argmax(1), y))
        self.log("val_loss", nn.functional.cross_entropy(logits, y, weight=self.w))

    def on_validation_epoch_end(self):
        p, y = (torch.cat(t) for t in zip(*self.preds))
        self.preds.clear()
        print(f"epoch {self.current_epoch} val acc {(p == y).float().mean():.3f} "
              f"balanced acc {balanced_accuracy_score(y.numpy(), p.numpy()):.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(BeatNet(), DataLoader(TensorDataset(xtr, ytr), batch_size=50, shuffle=True),
            DataLoader(TensorDataset(xva, yva), batch_size=200))
