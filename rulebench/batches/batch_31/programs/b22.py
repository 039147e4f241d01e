import warnings
import logging
import torch
from torch import nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_swiss_roll

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 13
L.seed_everything(SEED, verbose=False)
torch.set_num_threads(1)

X, t = make_swiss_roll(4000, noise=0.3, random_state=SEED)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor((t - t.mean()) / t.std(), dtype=torch.float32)[:, None]
train = TensorDataset(X[:3000], y[:3000])
val = TensorDataset(X[3000:], y[3000:])


class ResBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.a = nn.Linear(d, 2 * d)
        self.b = nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.norm(x))))


class ResMLP(L.LightningModule):
    """depth is a hyper-parameter, hence the list"""

    def __init__(self, d_in=3, width=24, depth=4, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.stem = nn.Linear(d_in, width)
        self.blocks = [ResBlock(width) for _ in range(depth)]
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.stem(x)
        for blk in self.blocks:
            x = blk(x)
        return self.head(x)

    def training_step(self, batch, idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        self.log("val_mse", F.mse_loss(self(x), y))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch+1} train {m['train_loss']:.4f} val {m['val_mse']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 25)]


model = ResMLP()
trainer = L.Trainer(max_epochs=25, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(train, 64, shuffle=True), DataLoader(val, 250))
r = trainer.validate(model, DataLoader(val, 250), verbose=False)[0]
print("validation MSE (target variance is 1): %.5f" % r["val_mse"])
