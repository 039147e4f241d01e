"""Multi-label topic tagging of short synthetic documents with Lightning."""
import logging
import warnings
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)
L.seed_everything(11)

X, Y = make_multilabel_classification(n_samples=6000, n_features=60, n_classes=12, n_labels=2,
                                      length=80, allow_unlabeled=True, random_state=3)
X = np.log1p(X).astype("float32")
Y = Y.astype("float32")
full = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
train, val, test = random_split(full, [5000, 500, 500], generator=torch.Generator().manual_seed(0))

y_tr = Y[train.indices]
pos = y_tr.sum(0)
pos_weight = torch.from_numpy(np.sqrt((len(y_tr) - pos) / pos))


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(60, 128), nn.LayerNorm(128), nn.GELU(), nn.Dropout(0.3), nn.Linear(128, 12))
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, x):
        return self.net(x)

    def _loss(self, logits, y):
        # summed over tags, averaged over documents
        per = F.binary_cross_entropy_with_logits(logits, y, pos_weight=self.pos_weight, reduction="none")
        return per.sum(1).mean()

    def training_step(self, batch, _):
        x, y = batch
        loss = self._loss(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.log("val_loss", self._loss(logits, y), on_epoch=True)

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch:2d} train {m['train_loss']:.3f} val {m['val_loss']:.3f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3, weight_decay=0.01)


model = Tagger()
trainer = L.Trainer(max_epochs=20, accelerator="cpu", accumulate_grad_batches=2, gradient_clip_val=5.0,
                    callbacks=[EarlyStopping("val_loss", patience=4)], logger=False,
                    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=250))

model.eval()
with torch.no_grad():
    xt = torch.stack([test[i][0] for i in range(len(test))])
    yt = torch.stack([test[i][1] for i in range(len(test))])
    pred = (torch.sigmoid(model(xt)) > 0.5).int().numpy()
print("test micro-F1 %.3f" % f1_score(yt.numpy(), pred, average="micro"),
      "all-negative exact rate %.3f" % float((yt.sum(1) == 0).float().mean()))
