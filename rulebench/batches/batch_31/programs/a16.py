import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from sklearn.datasets import load_digits

L.seed_everything(12)
torch.set_num_threads(1)


class DigitsData(L.LightningDataModule):
    def setup(self, stage=None):
        d = load_digits()
        ds = TensorDataset(torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1), torch.tensor(d.target))
        self.tr, self.va, self.te = random_split(ds, [1200, 200, 397])

    def train_dataloader(self):
        return DataLoader(self.tr, batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.va, batch_size=200)

    def test_dataloader(self):
        return DataLoader(self.te, batch_size=397)


class LitConv(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 16, 10))

    def step(self, batch, name):
        x, y = batch
        logits = self.net(x)
        loss = F.cross_entropy(logits, y)
        acc = (logits.argmax(1) == y).float().mean()
        self.log_dict({f"{name}_loss": loss, f"{name}_acc": acc}, on_epoch=True, on_step=False)
        return loss

    def training_step(self, b, i):
        return self.step(b, "train")

    def validation_step(self, b, i):
        self.step(b, "val")

    def test_step(self, b, i):
        self.step(b, "test")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        sch = torch.optim.lr_scheduler.StepLR(opt, step_size=5, gamma=0.4)
        return {"optimizer": opt, "lr_scheduler": sch}

    def on_train_epoch_end(self):
        print(self.current_epoch, {k: round(float(v), 4) for k, v in self.trainer.callback_metrics.items()})


trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
dm, lit = DigitsData(), LitConv()
trainer.fit(lit, dm)
res = trainer.test(lit, dm, verbose=False)
print("test accuracy", res[0]["test_acc"])
