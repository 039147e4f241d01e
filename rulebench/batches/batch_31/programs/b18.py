"""VICReg on 8x8 digits: no labels and no negatives, only invariance, a hinge on the spread and decorrelation.
The quality of what was learned is read off with a linear probe afterwards."""
import warnings
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
SEED = 6
L.seed_everything(SEED, verbose=False)
torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32).view(-1, 1, 8, 8)
p = torch.randperm(len(X))
X, y = X[p], y[p.numpy()]
ntr = 1300


def augment(x):
    n = len(x)
    ang = (torch.rand(n) - 0.5) * 0.7
    sc = 1 + (torch.rand(n) - 0.5) * 0.4
    th = torch.zeros(n, 2, 3)
    th[:, 0, 0], th[:, 0, 1] = sc * ang.cos(), -sc * ang.sin()
    th[:, 1, 0], th[:, 1, 1] = sc * ang.sin(), sc * ang.cos()
    th[:, :, 2] = (torch.rand(n, 2) - 0.5) * 0.4
    x = F.grid_sample(x, F.affine_grid(th, x.shape, align_corners=False), align_corners=False)
    return x * (0.8 + 0.4 * torch.rand(n, 1, 1, 1)) + 0.05 * torch.randn_like(x)


def spread_and_cov(z):
    z = z - z.mean(0)
    std = (z.var(0) + 1e-4).sqrt()
    cov = z.T @ z / (len(z) - 1)
    off = cov - torch.diag(torch.diagonal(cov))
    return F.relu(1 - std).mean(), off.pow(2).sum() / z.shape[1]


class VICReg(L.LightningModule):
    def __init__(self, lam=25.0, mu=25.0, nu=1.0):
        super().__init__()
        self.automatic_optimization = False
        self.lam, self.mu, self.nu = lam, mu, nu
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(),
            nn.Linear(1024, 64))
        self.expander = nn.Sequential(nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 128))
        self.seen = []

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3, weight_decay=1e-4)

    def training_step(self, batch, _):
        (x,) = batch
        za = self.expander(self.encoder(augment(x)))
        zb = self.expander(self.encoder(augment(x)))
        (va, ca), (vb, cb) = spread_and_cov(za), spread_and_cov(zb)
        loss = self.lam * F.mse_loss(za, zb) + self.mu * (va + vb) / 2 + self.nu * (ca + cb)
        opt = self.optimizers()
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
        self.seen.append(loss.item())

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            print(f"epoch {self.current_epoch+1} loss {np.mean(self.seen[-10:]):.4f}")


@torch.no_grad()
def probe(m):
    m.eval()
    f = m.encoder(X).numpy()
    lr = LogisticRegression(max_iter=500).fit(f[:100], y[:100])     # a hundred labels only
    return lr.score(f[ntr:], y[ntr:])


model = VICReg()
print("linear probe before: %.3f" % probe(model))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[:ntr]), batch_size=128, shuffle=True, drop_last=True)
trainer = L.Trainer(max_epochs=35, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, loader)
print("linear probe with 100 labels after: %.4f" % probe(model))
