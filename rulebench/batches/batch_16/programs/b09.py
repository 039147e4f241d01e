"""WGAN-GP on a curved 2-D sample, manual optimisation in Lightning."""
import logging
import warnings
import torch
from torch import nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class WGAN(L.LightningModule):
    def __init__(self, z=4, n_critic=5, lr=1e-3, gp=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.G = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
        self.D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def configure_optimizers(self):
        kw = dict(lr=self.hparams.lr, betas=(0.0, 0.9))
        opts = [torch.optim.Adam(self.G.parameters(), **kw), torch.optim.Adam(self.D.parameters(), **kw)]
        return opts, [torch.optim.lr_scheduler.ExponentialLR(o, 0.87) for o in opts]

    def penalty(self, real, fake):
        e = torch.rand(len(real), 1)
        mid = (e * real + (1 - e) * fake).requires_grad_(True)
        g, = torch.autograd.grad(self.D(mid).sum(), mid, create_graph=True)
        return ((g.norm(dim=1) - 1) ** 2).mean()

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        with torch.no_grad():
            fake = self.G(torch.randn(len(real), self.hparams.z))
        d_loss = self.D(fake).mean() - self.D(real).mean() + self.hparams.gp * self.penalty(real, fake)
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()
        if batch_idx % self.hparams.n_critic == 0:
            g_loss = -self.D(self.G(torch.randn(len(real), self.hparams.z))).mean()
            opt_g.zero_grad()
            self.manual_backward(g_loss)
            opt_g.step()
        self.last = d_loss.item()

    def on_train_epoch_end(self):
        for sched in self.lr_schedulers():
            sched.step()
        if self.current_epoch % 8 == 7:
            with torch.no_grad():
                s = self.G(torch.randn(2000, self.hparams.z))
            print(f"epoch {self.current_epoch + 1} critic loss {self.last:.3f} mean {s.mean(0).tolist()} std {s.std(0).tolist()}")


if __name__ == "__main__":
    L.seed_everything(0)
    x = torch.randn(6000, 1)
    data = torch.cat([1 + 0.8 * x, 2 + 0.5 * x ** 2 + 0.1 * torch.randn(6000, 1)], 1)
    print("data mean", data.mean(0).tolist(), "std", data.std(0).tolist())
    trainer = L.Trainer(max_epochs=24, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(WGAN(), DataLoader(TensorDataset(data), batch_size=128, shuffle=True, drop_last=True))
