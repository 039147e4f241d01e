import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
np.random.seed(0)

z_dim = 16
batch_size = 64
n_iters = 600

digits = load_digits()
X = torch.tensor(digits.data / 8.0 - 1.0, dtype=torch.float32)

G = nn.Sequential(
    nn.Linear(z_dim, 128), nn.BatchNorm1d(128), nn.ReLU(),
    nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(),
    nn.Linear(128, 64), nn.Tanh(),
)
D = nn.Sequential(
    nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Dropout(0.3),
    nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Dropout(0.3),
    nn.Linear(64, 1),
)

opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()

real_labels = torch.full((batch_size, 1), 0.9)
ones = torch.ones(batch_size, 1)
zeros = torch.zeros(batch_size, 1)

for it in range(n_iters):
    real = X[torch.randint(0, len(X), (batch_size,))]
    z = torch.randn(batch_size, z_dim)
    fake = G(z)

    # discriminator
    opt_d.zero_grad()
    fake_d = fake.detach()
    d_loss = bce(D(real), real_labels) + bce(D(fake_d), zeros)
    d_loss.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    g_loss = bce(D(fake_d), ones)
    g_loss.backward()
    opt_g.step()

    if it % 100 == 0:
        print(f"iter {it:5d}  d_loss {d_loss.item():.3f}  g_loss {g_loss.item():.3f}")

G.eval()
with torch.no_grad():
    samples = G(torch.randn(1000, z_dim))
# distance between pixel statistics of real and generated digits
mean_gap = (samples.mean(0) - X.mean(0)).abs().mean().item()
nearest = torch.cdist(samples, X).min(dim=1).values.mean().item()
print(f"pixel mean gap {mean_gap:.3f}   mean distance to nearest real digit {nearest:.3f}")
