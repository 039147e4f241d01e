import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning.pytorch as pl
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

pl.seed_everything(99)


class MeanTeacher(pl.LightningModule):
    """Semi-supervised digits: 100 labelled images plus unlabelled ones."""

    def __init__(self, decay=0.98, max_weight=4.0, ramp=200):
        super().__init__()
        self.automatic_optimization = False
        self.student = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Dropout(0.3), nn.Linear(48 * 16, 10))
        self.teacher = copy.deepcopy(self.student)
        for p in self.teacher.parameters():
            p.requires_grad = False
        self.decay, self.max_weight, self.ramp = decay, max_weight, ramp

    def noise(self, x):
        dx, dy = torch.randint(-1, 2, (2,)).tolist()
        return torch.roll(x, (dx, dy), (2, 3)) + 0.1 * torch.randn_like(x)

    def training_step(self, batch, batch_idx):
        (xl, yl), (xu,) = batch["labelled"], batch["unlabelled"]
        opt = self.optimizers()
        sup = F.cross_entropy(self.student(self.noise(xl)), yl)
        with torch.no_grad():
            target = self.teacher(self.noise(xu)).softmax(-1)
        cons = F.mse_loss(self.student(self.noise(xu)).softmax(-1), target)
        w = self.max_weight * min(1.0, self.trainer.global_step / self.ramp) ** 2
        loss = sup + w * cons
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
        with torch.no_grad():
            for t, s in zip(self.teacher.parameters(), self.student.parameters()):
                t.mul_(self.decay).add_(s, alpha=1 - self.decay)
        self.log_dict({"sup": sup, "cons": cons, "w": w}, on_step=False, on_epoch=True)

    def validation_step(self, batch, _):
        x, y = batch
        self.log("acc_student", (self.student(x).argmax(1) == y).float().mean())
        self.log("acc_teacher", (self.teacher(x).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        if self.current_epoch % 3 == 2:
            print(self.current_epoch, {k: round(float(v), 4) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        return torch.optim.Adam(self.student.parameters(), lr=2e-3)


d = load_digits()
x = torch.tensor(d.images / 16, dtype=torch.float32)[:, None]
y = torch.tensor(d.target)
perm = torch.randperm(len(x))
lab, unl, val = perm[:100], perm[100:1300], perm[1300:]
loaders = pl.utilities.CombinedLoader({
    "labelled": DataLoader(TensorDataset(x[lab], y[lab]), batch_size=25, shuffle=True),
    "unlabelled": DataLoader(TensorDataset(x[unl]), batch_size=60, shuffle=True),
}, mode="max_size_cycle")
trainer = pl.Trainer(max_epochs=17, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(MeanTeacher(), loaders, DataLoader(TensorDataset(x[val], y[val]), batch_size=500))
