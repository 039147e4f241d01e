"""Mixture of small experts on the digits data, written with Lightning."""
import lightning as L
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset
import logging, warnings

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(5)


class Expert(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.down = nn.Linear(dim, width)
        self.up = nn.Linear(width, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, h):
        return self.norm(self.up(torch.tanh(self.down(h))))


class MoE(L.LightningModule):
    def __init__(self, dim=8, width=4, n_experts=4, lr=3e-3):
        super().__init__()
        self.save_hyperparameters()
        self.stem = nn.Linear(64, dim)
        self.gate = nn.Linear(dim, n_experts)
        self.experts = [Expert(dim, width) for _ in range(n_experts)]
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        w = self.gate(h).softmax(-1)
        out = torch.stack([e(h) for e in self.experts], dim=1)
        return self.head((w.unsqueeze(-1) * out).sum(1))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        if self.current_epoch % 5 == 0:
            print(f"epoch {self.current_epoch}: train {m['train_loss']:.3f} val {m['val_loss']:.3f} acc {m['val_acc']:.3f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


X, y = load_digits(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(X / 16.0, y, test_size=0.3, random_state=1, stratify=y)
to_ds = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))
train_dl = DataLoader(to_ds(Xa, ya), batch_size=32, shuffle=True)
val_dl = DataLoader(to_ds(Xb, yb), batch_size=540)

model = MoE()
trainer = L.Trainer(max_epochs=25, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, train_dl, val_dl)
res = trainer.validate(model, val_dl, verbose=False)[0]
print("final val accuracy %.4f  loss %.4f" % (res["val_acc"], res["val_loss"]))
