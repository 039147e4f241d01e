import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

L.seed_everything(301)


class Tumor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))

    def step(self, batch, name):
        x, y = batch
        z = self.net(x).squeeze(1)
        loss = F.binary_cross_entropy_with_logits(z, y)
        self.log(f"{name}_loss", loss, on_epoch=True, on_step=False)
        self.log(f"{name}_acc", ((z > 0).float() == y).float().mean(), on_epoch=True, on_step=False)
        return loss

    def training_step(self, b, i):
        return self.step(b, "train")

    def validation_step(self, b, i):
        self.step(b, "val")

    def test_step(self, b, i):
        self.step(b, "test")

    def on_train_epoch_end(self):
        print(self.current_epoch, {k: round(v.item(), 4) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-3)
        sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=30)
        return {"optimizer": opt, "lr_scheduler": sch}


X, y = load_breast_cancer(return_X_y=True)
a, b, ya, yb = train_test_split(X, y, test_size=0.2, stratify=y, random_state=3)
a, v, ya, yv = train_test_split(a, ya, test_size=0.2, stratify=ya, random_state=3)
sc = StandardScaler().fit(a)
ds = [TensorDataset(torch.tensor(sc.transform(q)).float(), torch.tensor(t).float()) for q, t in ((a, ya), (v, yv), (b, yb))]
train, val, test = [DataLoader(s, batch_size=16, shuffle=(i == 0)) for i, s in enumerate(ds)]
trainer = L.Trainer(max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, gradient_clip_val=1.0,
                    callbacks=[EarlyStopping("val_loss", patience=8)])
model = Tumor()
trainer.fit(model, train, val)
print(trainer.test(model, test, verbose=False))
