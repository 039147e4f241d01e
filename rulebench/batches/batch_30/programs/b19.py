import warnings, logging
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class LitDigits(L.LightningModule):
    def __init__(self, total_steps, warmup=60, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(64, 64), torch.nn.ReLU(),
            torch.nn.Linear(64, 64), torch.nn.ReLU(),
            torch.nn.Linear(64, 10),
        )

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking and self.current_epoch % 3 == 0:
            m = self.trainer.callback_metrics
            lr = self.trainer.optimizers[0].param_groups[0]["lr"]
            print(f"epoch {self.current_epoch} val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.4f} lr {lr:.5f}")

    def configure_optimizers(self):
        hp = self.hparams
        opt = torch.optim.SGD(self.parameters(), lr=hp.lr, momentum=0.9)

        def factor(step):
            if step < hp.warmup:
                return (step + 1) / hp.warmup
            return max(0.0, (hp.total_steps - step) / (hp.total_steps - hp.warmup))

        sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
        return [opt], [sched]


L.seed_everything(17, verbose=False)
X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split((X - 8) / 8, y, test_size=0.3, random_state=17, stratify=y)
to = lambda a, b: TensorDataset(torch.tensor(a, dtype=torch.float32), torch.tensor(b))
train = DataLoader(to(Xtr, ytr), batch_size=64, shuffle=True)
val = DataLoader(to(Xte, yte), batch_size=256)
EPOCHS = 12
model = LitDigits(total_steps=EPOCHS * len(train))
trainer = L.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False,
                    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, train, val)
res = trainer.validate(model, val, verbose=False)[0]
print("val_loss %.4f val_acc %.4f" % (res["val_loss"], res["val_acc"]))
