import argparse
import torch
from torch import nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
import logging
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)


def blob_images(n, s=10):
    g = torch.arange(s).float()
    c = torch.rand(n, 2) * 6 + 2
    d = (g[None, None] - c[:, :1, None]) ** 2 + (g[None, :, None] - c[:, 1:, None]) ** 2
    return torch.exp(-d / 3).view(n, -1) * 2 - 1


class LitGAN(L.LightningModule):
    """GAN on small blob images"""

    def __init__(self, zdim, lr):
        super().__init__()
        self.automatic_optimization = False
        self.zdim, self.lr = zdim, lr
        self.G = nn.Sequential(nn.Linear(zdim, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 100), nn.Tanh())
        self.D = nn.Sequential(nn.Linear(100, 128), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(128, 1))
        self.stats = []

    def training_step(self, batch, batch_idx):
        (x,) = batch
        og, od = self.optimizers()
        bce = nn.functional.binary_cross_entropy_with_logits
        one, zero = torch.full((len(x), 1), 0.9), torch.zeros(len(x), 1)
        z = torch.randn(len(x), self.zdim)

        self.toggle_optimizer(od)
        ld = 0.5 * (bce(self.D(x), one) + bce(self.D(self.G(z).detach()), zero))
        od.zero_grad()
        self.manual_backward(ld)
        od.step()
        self.untoggle_optimizer(od)

        self.toggle_optimizer(og)
        lg = bce(self.D(self.G(z)), torch.ones(len(x), 1))
        og.zero_grad()
        self.manual_backward(lg)
        og.step()
        self.untoggle_optimizer(og)
        self.stats.append((ld.item(), lg.item()))

    def on_train_epoch_end(self):
        s = torch.tensor(self.stats).mean(0)
        self.stats.clear()
        if self.current_epoch % 4 == 3:
            print(f"epoch {self.current_epoch + 1} D {s[0]:.3f} G {s[1]:.3f}")

    def configure_optimizers(self):
        return (torch.optim.Adam(self.G.parameters(), lr=self.lr, betas=(0.5, 0.999)),
                torch.optim.Adam(self.D.parameters(), lr=self.lr, betas=(0.5, 0.999)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    L.seed_everything(0)
    x = blob_images(2000)
    gan = LitGAN(8, args.lr)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(gan, DataLoader(TensorDataset(x), batch_size=64, shuffle=True, drop_last=True))
    with torch.no_grad():
        s = gan.G(torch.randn(500, 8))
    ref = blob_images(500)
    print("distance to nearest real: fake", torch.cdist(s, x).min(1).values.mean().item(),
          "noise", torch.cdist(torch.rand_like(s) * 2 - 1, x).min(1).values.mean().item(),
          "fresh real", torch.cdist(ref, x).min(1).values.mean().item())
    print("spread fake", torch.cdist(s, s).mean().item(), "real", torch.cdist(ref, ref).mean().item())


if __name__ == "__main__":
    main()
