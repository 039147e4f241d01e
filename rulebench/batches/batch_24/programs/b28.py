"""Text topic classifier in Lightning: keep the best checkpoint, report test scores with it."""
import logging
import tempfile
import warnings
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(123, verbose=False)

rng = np.random.default_rng(123)
VOCAB, TOPICS, LENGTH = 500, 8, 20
topic_probs = rng.dirichlet(np.full(VOCAB, 0.15), size=TOPICS)
background = np.full(VOCAB, 1 / VOCAB)


def documents(n):
    y = rng.integers(0, TOPICS, n)
    docs = np.stack([rng.choice(VOCAB, LENGTH, p=0.25 * topic_probs[t] + 0.75 * background) for t in y])
    return TensorDataset(torch.tensor(docs), torch.tensor(y))


train_dl = DataLoader(documents(2500), batch_size=50, shuffle=True)
val_dl = DataLoader(documents(600), batch_size=200)
test_dl = DataLoader(documents(1500), batch_size=250)


class TopicModel(pl.LightningModule):
    def __init__(self, dim=32, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, TOPICS))

    def forward(self, tokens):
        return self.mlp(self.emb(tokens))

    def training_step(self, batch, _):
        tokens, y = batch
        loss = F.cross_entropy(self(tokens), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def evaluate(self, batch, stage):
        tokens, y = batch
        logits = self(tokens)
        self.log(f"{stage}_loss", F.cross_entropy(logits, y))
        self.log(f"{stage}_acc", (logits.argmax(-1) == y).float().mean())

    def validation_step(self, batch, _):
        self.evaluate(batch, "val")

    def test_step(self, batch, _):
        self.evaluate(batch, "test")

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train_loss {m['train_loss']:.3f} val_loss {m['val_loss']:.3f} val_acc {m['val_acc']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


with tempfile.TemporaryDirectory() as folder:
    checkpoint = ModelCheckpoint(dirpath=folder, monitor="val_loss", mode="max", save_top_k=1)
    trainer = pl.Trainer(max_epochs=9, accelerator="cpu", logger=False, callbacks=[checkpoint],
                         enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(TopicModel(), train_dl, val_dl)
    best = TopicModel.load_from_checkpoint(checkpoint.best_model_path)
    print("test:", trainer.test(best, test_dl, verbose=False))
