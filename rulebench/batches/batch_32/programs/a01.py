# Small tabular classifier, ported from our TF codebase to Lightning.
import torch
from torch import nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 11
L.seed_everything(SEED)

X, y = make_classification(n_samples=6000, n_features=30, n_informative=14, n_redundant=4,
                           n_classes=5, n_clusters_per_class=3, class_sep=1.4, random_state=SEED)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=SEED, stratify=y)
sc = StandardScaler().fit(Xtr)
to = lambda a, b: TensorDataset(torch.tensor(sc.transform(a), dtype=torch.float32), torch.tensor(b))
train_dl = DataLoader(to(Xtr, ytr), batch_size=64, shuffle=True)
val_dl = DataLoader(to(Xte, yte), batch_size=512)


class Net(L.LightningModule):
    def __init__(self, lr=3e-3, warmup=400):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Linear(30, 128), nn.GELU(), nn.LayerNorm(128),
                                  nn.Linear(128, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 5))
        self.hits, self.n = 0, 0

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("loss", loss)
        return loss

    def on_validation_epoch_start(self):
        self.hits, self.n = 0, 0

    def validation_step(self, batch, _):
        x, y = batch
        self.hits += (self(x).argmax(1) == y).sum().item()
        self.n += len(y)

    def on_validation_epoch_end(self):
        print(f"epoch {self.current_epoch} val_acc {self.hits / self.n:.4f} "
              f"loss {float(self.trainer.callback_metrics.get('loss', float('nan'))):.4f}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.01)
        # linear warm-up over the first 400 updates, constant afterwards
        w = self.hparams.warmup
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / w))
        return {"optimizer": opt, "lr_scheduler": sched}


net = Net()
tr = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
               enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
tr.fit(net, train_dl, val_dl)
print("final held-out accuracy:", round(net.hits / net.n, 4))
