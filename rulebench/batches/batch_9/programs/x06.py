import torch
import torch.nn as nn
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping
from torch.utils.data import DataLoader, TensorDataset, random_split
from sklearn.datasets import load_digits
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

L.seed_everything(301)
d = load_digits()
ds = TensorDataset(torch.tensor(d.data / 16, dtype=torch.float32), torch.tensor(d.target))
tr, va, te = random_split(ds, [1300, 200, 297])

class Digits(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10))

    def step(self, batch, name):
        x, y = batch
        o = self.net(x)
        loss = nn.functional.cross_entropy(o, y)
        self.log_dict({name + "_loss": loss, name + "_acc": (o.argmax(1) == y).float().mean()}, on_epoch=True, on_step=False)
        return loss

    def training_step(self, b, i):
        return self.step(b, "train")

    def validation_step(self, b, i):
        self.step(b, "val")

    def test_step(self, b, i):
        self.step(b, "test")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2),
                                                   "monitor": "val_loss"}}

trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, callbacks=[EarlyStopping("val_loss", patience=4)], gradient_clip_val=1.0)
m = Digits()
trainer.fit(m, DataLoader(tr, batch_size=32, shuffle=True), DataLoader(va, batch_size=100))
print({k: round(float(v), 4) for k, v in trainer.callback_metrics.items()})
print(trainer.test(m, DataLoader(te, batch_size=100), verbose=False))
