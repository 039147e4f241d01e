# Small images, tiny micro-batches because of memory on the target board -> accumulate 16 of them.
import warnings; warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import lightning as L
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, Subset

L.seed_everything(3, verbose=False)


class LitNet(L.LightningModule):
    accumulate = 16

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10))
        self.seen = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        opt = self.optimizers()
        loss = nn.functional.cross_entropy(self.net(x), y)
        opt.zero_grad()
        self.manual_backward(loss / self.accumulate)
        if (batch_idx + 1) % self.accumulate == 0:
            opt.step()
        self.seen.append(loss.item())
        if len(self.seen) == 800:
            print(f"micro-batch {batch_idx + 1 + self.current_epoch * self.trainer.num_training_batches}: loss {sum(self.seen) / 800:.4f}")
            self.seen.clear()

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        print("val acc: %.3f" % self.trainer.callback_metrics["val_acc"])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)


d = load_digits()
ds = TensorDataset(torch.tensor(d.images / 16., dtype=torch.float32).unsqueeze(1), torch.tensor(d.target))
train_dl = DataLoader(Subset(ds, range(1440)), batch_size=2, shuffle=True)
val_dl = DataLoader(Subset(ds, range(1440, 1797)), batch_size=357)
trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(LitNet(), train_dl, val_dl)
