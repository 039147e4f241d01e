import math
import warnings
import torch
from torch import nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
L.seed_everything(1)


class TabularNet(L.LightningModule):
    def __init__(self, n_in, n_out, lr=3e-3, warmup=200, total=1000):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(n_in, 128), nn.LayerNorm(128), nn.GELU(),
            nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU(),
            nn.Linear(128, n_out),
        )
        self.hist = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.hist.append(loss.item())
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        z = self(x)
        self.log("val_loss", F.cross_entropy(z, y))
        self.log("val_acc", (z.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        if self.current_epoch % 2 == 1:
            print(f"epoch {self.current_epoch}: train {sum(self.hist[-50:]) / 50:.3f} "
                  f"val {m['val_loss'].item():.3f} acc {m['val_acc'].item():.3f}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-2)
        w, t = self.hparams.warmup, self.hparams.total

        # linear warmup, then cosine
        def factor(step):
            if step < w:
                return (step + 1) / w
            return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - w) / (t - w))))

        return [opt], [torch.optim.lr_scheduler.LambdaLR(opt, factor)]


X, y = make_classification(10000, 24, n_informative=14, n_redundant=4, n_classes=5,
                           n_clusters_per_class=3, class_sep=1.4, random_state=1)
Xa, Xb, ya, yb = train_test_split(X.astype("float32"), y, test_size=0.2, random_state=1)
train = DataLoader(TensorDataset(torch.tensor(Xa), torch.tensor(ya)), batch_size=48, shuffle=True, drop_last=True)
val = DataLoader(TensorDataset(torch.tensor(Xb), torch.tensor(yb)), batch_size=256)

EPOCHS = 10
model = TabularNet(24, 5, total=EPOCHS * len(train))
trainer = L.Trainer(max_epochs=EPOCHS, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, accelerator="cpu", num_sanity_val_steps=0)
trainer.fit(model, train, val)
res = trainer.validate(model, val, verbose=False)[0]
print("val accuracy", round(res["val_acc"], 4))
