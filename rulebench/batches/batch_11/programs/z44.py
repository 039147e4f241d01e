import logging
import tempfile
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from sklearn.datasets import make_classification
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class TabularClassifier(L.LightningModule):
    def __init__(self, n_features, n_classes, width=96, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.model = nn.Sequential(
            nn.Linear(n_features, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, n_classes))

    def forward(self, x):
        return self.model(x)

    def _shared(self, batch, stage):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        acc = (logits.argmax(1) == y).float().mean()
        self.log_dict({f"{stage}_loss": loss, f"{stage}_acc": acc}, on_epoch=True, on_step=False)
        return loss

    def training_step(self, batch, i):
        return self._shared(batch, "train")

    def validation_step(self, batch, i):
        self._shared(batch, "val")

    def test_step(self, batch, i):
        self._shared(batch, "test")

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch} val_acc {float(self.trainer.callback_metrics['val_acc']):.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-3)


def loaders(bs):
    X, y = make_classification(5000, 24, n_informative=16, n_classes=6, n_clusters_per_class=3, class_sep=1.5, random_state=0)
    ds = TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y))
    tr, va, te = random_split(ds, [3400, 800, 800], torch.Generator().manual_seed(1))
    return DataLoader(tr, bs, shuffle=True), DataLoader(va, 400), DataLoader(te, 400)


def main():
    L.seed_everything(0)
    tr, va, te = loaders(64)
    with tempfile.TemporaryDirectory() as folder:
        stop = EarlyStopping(monitor="val_acc", patience=4)
        ckpt = ModelCheckpoint(folder, monitor="val_acc", save_top_k=1)
        trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, callbacks=[stop, ckpt],
                            enable_progress_bar=False, enable_model_summary=False)
        model = TabularClassifier(24, 6)
        trainer.fit(model, tr, va)
        print("stopped after epoch", trainer.current_epoch, "best score", float(ckpt.best_model_score))
        res = trainer.test(model, te, ckpt_path="best", weights_only=False, verbose=False)
    print("test", {k: round(v, 4) for k, v in res[0].items()})


if __name__ == "__main__":
    main()
