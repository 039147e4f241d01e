"""A little GAN on two dimensional points."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_moons

SEED = 17
np.random.seed(SEED)
torch.manual_seed(SEED)

Z = 8
BATCH = 256
STEPS = 4000


def mlp(i, o, h=96, act=nn.ReLU):
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


points, _ = make_moons(4000, noise=0.06, random_state=SEED)
points = torch.tensor((points - points.mean(0)) / points.std(0), dtype=torch.float32)

G = mlp(Z, 2)
D = mlp(2, 1, act=lambda: nn.LeakyReLU(0.2))
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)


def energy_distance(a, b):
    ab, aa, bb = torch.cdist(a, b).mean(), torch.cdist(a, a).mean(), torch.cdist(b, b).mean()
    return (2 * ab - aa - bb).item()


def report(step, ld, lg):
    with torch.no_grad():
        fake = G(torch.randn(1000, Z))
    print("step %5d  D %.3f  G %.3f  energy distance %.4f" % (
        step, ld, lg, energy_distance(fake, points[:1000])))


for step in range(1, STEPS + 1):
    # --- discriminator
    real = points[torch.randint(0, len(points), (BATCH,))]
    real = real + 0.05 * torch.randn_like(real)
    fake = G(torch.randn(BATCH, Z))
    noisy_fake = fake.detach() + 0.05 * torch.randn_like(fake)
    loss_d = bce(D(real), 0.9 * ones) + bce(D(noisy_fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # --- generator, every step, non saturating loss
    loss_g = bce(D(G(torch.randn(BATCH, Z))), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step == 1 or step % 500 == 0:
        report(step, loss_d.item(), loss_g.item())

with torch.no_grad():
    fake = G(torch.randn(2000, Z))
near = torch.cdist(fake, points).min(1).values
covered = (torch.cdist(points[:1000], fake).min(1).values < 0.15).float().mean()
print("generated points within 0.15 of the data: %.3f   data points covered: %.3f" % (
    (near < 0.15).float().mean(), covered))
