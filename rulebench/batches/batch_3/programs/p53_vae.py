"""Variational autoencoder on 8x8 digits."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

SEED = 0
torch.manual_seed(SEED)


class VAE(nn.Module):
    def __init__(self, latent_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.fc_mu = nn.Linear(64, latent_dim)
        self.fc_logvar = nn.Linear(64, latent_dim)
        self.decoder = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(),
                                     nn.Linear(128, 64), nn.Sigmoid())

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.fc_mu(h), self.fc_logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
    return bce + kld.mean(), bce, kld.mean()


data = torch.tensor(load_digits().images / 16.0, dtype=torch.float32).view(-1, 64)
train, test = data[:1500], data[1500:]
loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(60):
    model.train()
    sums = torch.zeros(3)
    for (x,) in loader:
        recon, mu, logvar = model(x)
        loss, bce, kld = vae_loss(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += torch.tensor([loss.item(), bce.item(), kld.item()])
    if epoch % 10 == 9:
        print("epoch %d loss %.4f bce %.4f kld %.4f" % (epoch + 1, *(sums / len(loader)).tolist()))

model.eval()
with torch.no_grad():
    h = model.encoder(test)
    mse = F.mse_loss(model.decoder(model.fc_mu(h)), test).item()
    samples = model.decoder(torch.randn(200, 8))
print("test reconstruction mse %.4f, std between samples %.4f" % (mse, samples.std(0).mean().item()))
