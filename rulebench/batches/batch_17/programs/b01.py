"""Adversarial domain-invariant features with two optimizers, manual optimization in Lightning."""
import argparse
import logging
import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def domain(n, shift, rng):
    y = rng.integers(0, 3, n)
    core = np.array([[2, 0], [-1, 1.7], [-1, -1.7]])[y] + 0.6 * rng.normal(size=(n, 2))
    nuisance = shift + 0.5 * rng.normal(size=(n, 3))
    return np.concatenate([core, nuisance], 1).astype(np.float32), y


class DomainAdversarial(L.LightningModule):
    def __init__(self, lam=0.3, lr=1e-3):
        super().__init__()
        self.automatic_optimization = False
        self.lam, self.lr = lam, lr
        self.enc = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 8))
        self.clf = nn.Linear(8, 3)
        self.disc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def configure_optimizers(self):
        a = torch.optim.Adam([*self.enc.parameters(), *self.clf.parameters()], lr=self.lr)
        b = torch.optim.Adam(self.disc.parameters(), lr=2 * self.lr)
        return a, b

    def training_step(self, batch, _):
        xs, ys, xt = batch
        oa, ob = self.optimizers()
        dom = torch.cat([torch.zeros(len(xs), 1), torch.ones(len(xt), 1)])
        with torch.no_grad():
            z = self.enc(torch.cat([xs, xt]))
        d_loss = F.binary_cross_entropy_with_logits(self.disc(z), dom)
        ob.zero_grad()
        self.manual_backward(d_loss)
        ob.step()

        self.toggle_optimizer(oa)
        z = self.enc(torch.cat([xs, xt]))
        c_loss = F.cross_entropy(self.clf(z[:len(xs)]), ys)
        fool = F.binary_cross_entropy_with_logits(self.disc(z), 1 - dom)
        oa.zero_grad()
        self.manual_backward(c_loss + self.lam * fool)
        oa.step()
        self.untoggle_optimizer(oa)
        self.log_dict({"d": d_loss, "c": c_loss}, on_epoch=True, on_step=False)

    def validation_step(self, batch, _):
        x, y = batch
        self.log("target_acc", (self.clf(self.enc(x)).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} clf {m['c']:.4f} disc {m['d']:.4f} target acc {m['target_acc']:.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--lam", type=float, default=0.3)
    args = ap.parse_args()
    L.seed_everything(0, verbose=False)
    rng = np.random.default_rng(0)
    xs, ys = domain(2000, 0.0, rng)
    xt, yt = domain(2600, 1.0, rng)
    train = TensorDataset(torch.tensor(xs), torch.tensor(ys), torch.tensor(xt[:2000]))
    val = TensorDataset(torch.tensor(xt[2000:]), torch.tensor(yt[2000:]))
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(DomainAdversarial(args.lam), DataLoader(train, batch_size=64, shuffle=True),
                DataLoader(val, batch_size=300))


if __name__ == "__main__":
    main()
