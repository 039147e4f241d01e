import logging, warnings
warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch
from torch import nn
import lightning.pytorch as pl
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

# Two phases: learn digits 0-6 end to end, then a new head for 7-9 on the frozen backbone (BN statistics stay put)
pl.seed_everything(88)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
y = torch.tensor(d.target)
old, new = y < 7, y >= 7
kw = dict(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)


def backbone():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten())


class Classifier(pl.LightningModule):
    def __init__(self, body, k, freeze=False, lr=1e-3):
        super().__init__()
        self.body, self.head, self.freeze_body, self.lr = body, nn.Linear(512, k), freeze, lr
        if freeze:
            for p in self.body.parameters():
                p.requires_grad_(False)

    def on_train_epoch_start(self):
        if self.freeze_body:
            self.body.eval()

    def forward(self, x):
        return self.head(self.body(x))

    def training_step(self, b, i):
        loss = nn.functional.cross_entropy(self(b[0]), b[1])
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def on_train_epoch_end(self):
        print(f"{'head' if self.freeze_body else 'full'} epoch {self.current_epoch} loss {float(self.trainer.callback_metrics['loss']):.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam([p for p in self.parameters() if p.requires_grad], lr=self.lr)


body = backbone()
pl.Trainer(max_epochs=5, **kw).fit(Classifier(body, 7), DataLoader(TensorDataset(X[old], y[old]), batch_size=64, shuffle=True))
xn, yn = X[new], y[new] - 7
p = torch.randperm(len(xn))
tr, te = p[:160], p[160:]
model = Classifier(body, 3, freeze=True, lr=5e-3)
pl.Trainer(max_epochs=12, **kw).fit(model, DataLoader(TensorDataset(xn[tr], yn[tr]), batch_size=16, shuffle=True))
model.eval()
with torch.no_grad():
    print("new-class test accuracy %.4f" % (model(xn[te]).argmax(1) == yn[te]).float().mean())
