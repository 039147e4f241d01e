"""Lightning: noisy-label text-like classification, keep the best checkpoint, then test it."""
import logging
import os
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(21)


class BagOfWords(L.LightningModule):
    def __init__(self, vocab=300, dim=32, classes=6, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.head = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, classes))

    def forward(self, x):
        return self.head(self.emb(x))

    def training_step(self, batch, _):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def _shared_eval(self, batch, stage):
        x, y = batch
        out = self(x)
        self.log(f"{stage}_loss", F.cross_entropy(out, y), prog_bar=True)
        self.log(f"{stage}_acc", (out.argmax(1) == y).float().mean(), prog_bar=True)

    def validation_step(self, batch, _):
        self._shared_eval(batch, "val")

    def test_step(self, batch, _):
        self._shared_eval(batch, "test")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class PrintVal(L.Callback):
    def on_validation_epoch_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            m = trainer.callback_metrics
            print(f"epoch {trainer.current_epoch}: val_loss {m['val_loss']:.3f} val_acc {m['val_acc']:.3f}")


def documents(n, rng, classes=6, vocab=300, length=20):
    topics = np.random.default_rng(0).dirichlet(np.full(vocab, 0.2), classes)
    y = rng.integers(0, classes, n)
    flat = np.ones(vocab) / vocab
    x = np.stack([rng.choice(vocab, length, p=0.35 * topics[c] + 0.65 * flat) for c in y])
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


rng = np.random.default_rng(3)
train, val, test = documents(3000, rng), documents(800, rng), documents(1500, rng)

with tempfile.TemporaryDirectory() as tmp:
    checkpoint = ModelCheckpoint(dirpath=tmp, monitor="val_acc", save_top_k=1, filename="{epoch}-{val_acc:.3f}")
    trainer = L.Trainer(
        max_epochs=10, accelerator="cpu", devices=1, logger=False,
        enable_progress_bar=False, enable_model_summary=False,
        callbacks=[checkpoint, PrintVal()],
    )
    model = BagOfWords()
    trainer.fit(model, DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=200))
    print("best checkpoint:", os.path.basename(checkpoint.best_model_path))
    best = BagOfWords.load_from_checkpoint(checkpoint.best_model_path)
    result = trainer.test(best, DataLoader(test, batch_size=250), verbose=False)[0]
print("test accuracy %.4f   test loss %.4f" % (result["test_acc"], result["test_loss"]))
