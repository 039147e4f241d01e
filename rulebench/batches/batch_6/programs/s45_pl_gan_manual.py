"""Small GAN on 8x8 digits, manual optimisation in Lightning."""
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import torch
from torch import nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(2)
X = torch.tensor(load_digits().data / 8.0 - 1.0, dtype=torch.float32)


class GAN(L.LightningModule):
    def __init__(self, z=16):
        super().__init__()
        self.automatic_optimization = False
        self.z = z
        self.G = nn.Sequential(nn.Linear(z, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64), nn.Tanh())
        self.D = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(64, 1))

    def training_step(self, batch, _):
        (x,) = batch
        og, od = self.optimizers()
        n = len(x)
        self.toggle_optimizer(od)
        fake = self.G(torch.randn(n, self.z)).detach()
        r, f = self.D(x), self.D(fake)
        d_loss = F.binary_cross_entropy_with_logits(r, torch.full_like(r, 0.9)) + F.binary_cross_entropy_with_logits(f, torch.zeros_like(f))
        od.zero_grad()
        self.manual_backward(d_loss)
        od.step()
        self.untoggle_optimizer(od)

        self.toggle_optimizer(og)
        f = self.D(self.G(torch.randn(n, self.z)))
        g_loss = F.binary_cross_entropy_with_logits(f, torch.ones_like(f))
        og.zero_grad()
        self.manual_backward(g_loss)
        og.step()
        self.untoggle_optimizer(og)
        self.log_dict({"d_loss": d_loss, "g_loss": g_loss}, on_step=False, on_epoch=True)

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch} d {float(m['d_loss']):.3f} g {float(m['g_loss']):.3f}")

    def configure_optimizers(self):
        return (torch.optim.Adam(self.G.parameters(), 1e-3, betas=(0.5, 0.999)),
                torch.optim.Adam(self.D.parameters(), 5e-4, betas=(0.5, 0.999)))


gan = GAN()
tr = L.Trainer(max_epochs=35, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
tr.fit(gan, DataLoader(TensorDataset(X), batch_size=64, shuffle=True, drop_last=True))
gan.eval()
with torch.no_grad():
    s = gan.G(torch.randn(500, 16))
print("nearest-digit distance: samples %.3f, uniform noise %.3f, real-to-real %.3f" % (
    torch.cdist(s, X).min(1).values.mean(), torch.cdist(torch.rand(500, 64) * 2 - 1, X).min(1).values.mean(),
    torch.cdist(X[:500], X[500:]).min(1).values.mean()))
