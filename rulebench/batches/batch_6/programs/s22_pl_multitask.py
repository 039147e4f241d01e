import warnings, logging
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch, torch.nn as nn, torch.nn.functional as F
import lightning.pytorch as pl
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

pl.seed_everything(19)
d = load_digits()
x = torch.tensor(d.data / 16.0, dtype=torch.float32)
digit = torch.tensor(d.target)
ink = torch.tensor((d.data.mean(1) - d.data.mean()) / d.data.mean(1).std(), dtype=torch.float32)
odd = (digit % 2).float()
full = TensorDataset(x, digit, odd, ink)
tr, va = random_split(full, [1400, len(full) - 1400])


class MultiTask(pl.LightningModule):
    """shared trunk, three heads: which digit, odd/even, amount of ink"""

    def __init__(self, weights=(1.0, 0.5, 0.5)):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.heads = nn.ModuleDict({"digit": nn.Linear(48, 10), "odd": nn.Linear(48, 1), "ink": nn.Linear(48, 1)})
        self.weights = weights

    def forward(self, x):
        h = self.trunk(x)
        return self.heads["digit"](h), self.heads["odd"](h).squeeze(1), self.heads["ink"](h).squeeze(1)

    def training_step(self, batch, i):
        x, digit, odd, ink = batch
        o1, o2, o3 = self(x)
        losses = [F.cross_entropy(o1, digit), F.binary_cross_entropy_with_logits(o2, odd), F.mse_loss(o3, ink)]
        total = 0.0
        for w, l in zip(self.weights, losses):
            total = w * l
        self.log("loss", total, on_step=False, on_epoch=True)
        return total

    def validation_step(self, batch, i):
        x, digit, odd, ink = batch
        o1, o2, o3 = self(x)
        self.log_dict({"digit_acc": (o1.argmax(1) == digit).float().mean(),
                       "odd_acc": ((o2 > 0) == odd.bool()).float().mean(), "ink_mse": F.mse_loss(o3, ink)})

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Printer(pl.Callback):
    def on_train_epoch_end(self, trainer, module):
        print("epoch", trainer.current_epoch, {k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})


trainer = pl.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False, callbacks=[Printer()])
model = MultiTask()
trainer.fit(model, DataLoader(tr, batch_size=32, shuffle=True), DataLoader(va, batch_size=200))
print(trainer.validate(model, DataLoader(va, batch_size=400), verbose=False))
