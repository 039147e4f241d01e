"""Sequence tagging of a noisy signal with a temporal conv net (Lightning)."""
import logging
import warnings
from dataclasses import dataclass

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


@dataclass
class HParams:
    seq_len: int = 64
    n_states: int = 4
    channels: int = 24
    max_lr: float = 0.05
    epochs: int = 7
    batch_size: int = 32


hp = HParams()


def simulate(n, generator):
    """Hidden states switch rarely; each state emits an oscillation of its own frequency."""
    states = torch.zeros(n, hp.seq_len, dtype=torch.long)
    states[:, 0] = torch.randint(0, hp.n_states, (n,), generator=generator)
    for t in range(1, hp.seq_len):
        switch = torch.rand(n, generator=generator) < 0.06
        new = torch.randint(0, hp.n_states, (n,), generator=generator)
        states[:, t] = torch.where(switch, new, states[:, t - 1])
    freq = torch.tensor([0.2, 0.6, 1.1, 1.7])[states]
    phase = torch.cumsum(freq, dim=1)
    signal = torch.sin(phase) + 0.35 * torch.randn(n, hp.seq_len, generator=generator)
    return signal.unsqueeze(1), states


class Tagger(L.LightningModule):
    def __init__(self, steps_per_epoch):
        super().__init__()
        self.steps_per_epoch = steps_per_epoch
        c = hp.channels
        self.net = nn.Sequential(
            nn.Conv1d(1, c, 5, padding=2), nn.ReLU(),
            nn.Conv1d(c, c, 5, padding=4, dilation=2), nn.ReLU(),
            nn.Conv1d(c, c, 5, padding=8, dilation=4), nn.ReLU(),
            nn.Conv1d(c, hp.n_states, 1),
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, s = batch
        loss = F.cross_entropy(self(x), s)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, s = batch
        out = self(x)
        self.log("val_loss", F.cross_entropy(out, s))
        self.log("val_acc", (out.argmax(1) == s).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch + 1}: train {m['train_loss']:.4f} val {m['val_loss']:.4f} acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=hp.max_lr, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=hp.max_lr, total_steps=hp.epochs * self.steps_per_epoch
        )
        return {"optimizer": optimizer, "lr_scheduler": scheduler}


L.seed_everything(9, verbose=False)
gen = torch.Generator().manual_seed(9)
train_loader = DataLoader(TensorDataset(*simulate(1280, gen)), batch_size=hp.batch_size, shuffle=True)
val_loader = DataLoader(TensorDataset(*simulate(400, gen)), batch_size=200)

trainer = L.Trainer(max_epochs=hp.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
tagger = Tagger(len(train_loader))
trainer.fit(tagger, train_loader, val_loader)
print("final validation accuracy", round(trainer.callback_metrics["val_acc"].item(), 4))
