"""Fair representation: predict the label while an adversary tries to recover the group."""
import logging
import warnings
import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(2)


def make_data(n):
    group = np.random.randint(0, 2, n)
    label = np.random.randint(0, 2, n)
    x = np.random.randn(n, 10)
    x[:, 0:3] += 0.9 * (2 * label[:, None] - 1)
    x[:, 3:6] += 1.2 * (2 * group[:, None] - 1)
    f = lambda a: torch.tensor(a, dtype=torch.float32)
    return TensorDataset(f(x), f(label), f(group))


class FairModel(L.LightningModule):
    def __init__(self, strength=1.0):
        super().__init__()
        self.automatic_optimization = False
        self.strength = strength
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
        self.classifier = nn.Linear(8, 1)
        self.adversary = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def configure_optimizers(self):
        main = torch.optim.Adam([*self.encoder.parameters(), *self.classifier.parameters()], lr=1e-3)
        adv = torch.optim.Adam(self.adversary.parameters(), lr=3e-3)
        return main, adv

    def training_step(self, batch, batch_idx):
        x, label, group = batch
        main, adv = self.optimizers()
        bce = F.binary_cross_entropy_with_logits

        # several adversary updates on a fixed representation
        z = self.encoder(x).detach()
        for _ in range(2):
            adv_loss = bce(self.adversary(z).squeeze(1), group)
            adv.zero_grad()
            self.manual_backward(adv_loss)
            adv.step()

        self.toggle_optimizer(main)
        z = self.encoder(x)
        task_loss = bce(self.classifier(z).squeeze(1), label)
        confusion = bce(self.adversary(z).squeeze(1), torch.full_like(group, 0.5))
        main.zero_grad()
        self.manual_backward(task_loss + self.strength * confusion)
        main.step()
        self.untoggle_optimizer(main)
        self.log_dict({"task": task_loss, "adv": adv_loss}, on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        x, label, group = batch
        z = self.encoder(x)
        self.log("acc_label", ((self.classifier(z).squeeze(1) > 0) == (label > 0.5)).float().mean())
        self.log("acc_group", ((self.adversary(z).squeeze(1) > 0) == (group > 0.5)).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} task {m['task']:.3f} adversary {m['adv']:.3f} "
              f"label acc {m['acc_label']:.3f} group acc {m['acc_group']:.3f}")


train = DataLoader(make_data(2000), batch_size=64, shuffle=True)
val = DataLoader(make_data(1000), batch_size=500)
trainer = L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(FairModel(), train, val)
