"""Adversarial domain-confusion training with manual optimisation in Lightning."""
import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def domains(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    c = torch.tensor([[2.0, 0, 0, 0, 0, 0], [0, 2.0, 0, 0, 0, 0], [0, 0, 2.0, 0, 0, 0]])
    d = torch.randint(0, 2, (n,), generator=g)
    x = c[y] + 0.7 * torch.randn(n, 6, generator=g)
    x[:, 3:5] += 2.5 * d[:, None]
    return x, y, d


class DomainAdversarial(L.LightningModule):
    def __init__(self, lam=0.3):
        super().__init__()
        self.automatic_optimization = False
        self.lam = lam
        self.encoder = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 8))
        self.label_head = nn.Linear(8, 3)
        self.domain_head = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
        self.track = []

    def configure_optimizers(self):
        main = torch.optim.Adam(list(self.encoder.parameters()) + list(self.label_head.parameters()), lr=2e-3)
        adv = torch.optim.Adam(self.domain_head.parameters(), lr=4e-3)
        return main, adv

    def training_step(self, batch, i):
        x, y, d = batch
        main, adv = self.optimizers()
        z = self.encoder(x)
        adv_loss = F.cross_entropy(self.domain_head(z.detach()), d)
        adv.zero_grad()
        self.manual_backward(adv_loss)
        adv.step()

        self.toggle_optimizer(main)
        z = self.encoder(x)
        label_loss = F.cross_entropy(self.label_head(z), y)
        uniform = -F.log_softmax(self.domain_head(z), 1).mean()
        main.zero_grad()
        self.manual_backward(label_loss + self.lam * uniform)
        self.clip_gradients(main, gradient_clip_val=2.0, gradient_clip_algorithm="norm")
        main.step()
        self.untoggle_optimizer(main)
        self.track.append((label_loss.item(), adv_loss.item()))

    def validation_step(self, batch, i):
        x, y, d = batch
        z = self.encoder(x)
        self.log("label_acc", (self.label_head(z).argmax(1) == y).float().mean())
        self.log("domain_acc", (self.domain_head(z).argmax(1) == d).float().mean())

    def on_validation_epoch_end(self):
        if self.track:
            a = torch.tensor(self.track).mean(0).tolist()
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch} label {a[0]:.4f} adv {a[1]:.4f} val label acc {float(m['label_acc']):.4f} domain acc {float(m['domain_acc']):.4f}")
            self.track.clear()


def main():
    L.seed_everything(0)
    g = torch.Generator().manual_seed(0)
    train, val = TensorDataset(*domains(3000, g)), TensorDataset(*domains(800, g))
    trainer = L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(DomainAdversarial(), DataLoader(train, 64, shuffle=True), DataLoader(val, 800))


if __name__ == "__main__":
    main()
