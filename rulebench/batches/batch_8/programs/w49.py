import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
warnings.filterwarnings("ignore", ".*does not have many workers.*")


class AdversarialFair(L.LightningModule):
    """predict y from x; an adversary tries to read the group from the hidden layer"""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.clf = nn.Linear(16, 2)
        self.adv = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch, i):
        x, y, g = batch
        om, oa = self.optimizers()
        h = self.enc(x)
        la = F.cross_entropy(self.adv(h.detach()), g)
        oa.zero_grad()
        self.manual_backward(la)
        oa.step()
        self.toggle_optimizer(om)
        lc = F.cross_entropy(self.clf(h), y)
        conf = F.cross_entropy(self.adv(h), g)
        om.zero_grad()
        self.manual_backward(lc - 0.1 * conf)
        om.step()
        self.untoggle_optimizer(om)
        self.log_dict({"task": lc, "adversary": la}, on_epoch=True, on_step=False)

    def validation_step(self, batch, i):
        x, y, g = batch
        self.log("val_acc", (self.clf(self.enc(x)).argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        print({k: round(float(v), 3) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        main = torch.optim.Adam(list(self.enc.parameters()) + list(self.clf.parameters()), lr=2e-3)
        return [main, torch.optim.Adam(self.adv.parameters(), lr=2e-3)]


L.seed_everything(301, verbose=False)
x = torch.randn(2400, 8)
g = (x[:, 0] > 0).long()
y = (x[:, 1] + x[:, 2] * x[:, 3] + 0.3 * x[:, 0] > 0).long()
tr = DataLoader(TensorDataset(x[:2000], y[:2000], g[:2000]), batch_size=50, shuffle=True)
va = DataLoader(TensorDataset(x[2000:], y[2000:], g[2000:]), batch_size=400)
L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
          enable_progress_bar=False, enable_model_summary=False).fit(AdversarialFair(), tr, va)
