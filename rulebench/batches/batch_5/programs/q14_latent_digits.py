import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(1)
X = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
perm = torch.randperm(len(X))
X_train, X_test = X[perm[:1500]], X[perm[1500:]]


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.enc = nn.Linear(64, 128)
        self.mu = nn.Linear(128, latent)
        self.logvar = nn.Linear(128, latent)
        self.dec1 = nn.Linear(latent, 128)
        self.dec2 = nn.Linear(128, 64)

    def encode(self, x):
        h = F.relu(self.enc(x))
        return self.mu(h), self.logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def decode(self, z):
        return torch.sigmoid(self.dec2(F.relu(self.dec1(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld, bce, kld


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
bs = 64
for epoch in range(1, 61):
    model.train()
    order = torch.randperm(len(X_train))
    tot = tot_b = tot_k = 0.0
    nb = 0
    for i in range(0, len(order), bs):
        xb = X_train[order[i:i + bs]]
        optimizer.zero_grad()
        recon, mu, logvar = model(xb)
        loss, bce, kld = loss_function(recon, xb, mu, logvar)
        loss.backward()
        optimizer.step()
        tot, tot_b, tot_k, nb = tot + loss.item(), tot_b + bce.item(), tot_k + kld.item(), nb + 1
    if epoch % 10 == 0:
        print(f"====> Epoch {epoch} loss {tot/nb:.4f} recon {tot_b/nb:.4f} kl {tot_k/nb:.4f}")

model.eval()
with torch.no_grad():
    mu, _ = model.encode(X_test)
    rec = model.decode(mu)
    print("test reconstruction mse: %.5f" % F.mse_loss(rec, X_test).item())
    print("pixel variance of the test set: %.5f" % X_test.var(0).mean().item())
