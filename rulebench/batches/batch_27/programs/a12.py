# VAE on the 8x8 digits, after the usual tutorial
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

torch.manual_seed(0)

data = load_digits()
X = torch.tensor(data.data / 16.0, dtype=torch.float32)
Y = data.target
perm = torch.randperm(len(X))
tr, te = perm[:1400], perm[1400:]
loader = torch.utils.data.DataLoader(X[tr], batch_size=64, shuffle=True)


class VAE(nn.Module):
    def __init__(self, zdim=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.mu = nn.Linear(64, zdim)
        self.logvar = nn.Linear(64, zdim)
        self.dec = nn.Sequential(nn.Linear(zdim, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(),
                                 nn.Linear(128, 64), nn.Sigmoid())

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo(xh, x, mu, logvar):
    bce = F.binary_cross_entropy(xh, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld, bce, kld


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(60):
    vae.train()
    tot = rec = kl = 0.0
    for x in loader:
        xh, mu, logvar = vae(x)
        loss, b, k = elbo(xh, x, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item(); rec += b.item(); kl += k.item()
    if epoch % 5 == 4:
        m = len(loader)
        print(f"====> Epoch {epoch + 1}: loss {tot / m:.4f}  bce {rec / m:.4f}  kld {kl / m:.4f}")

vae.eval()
with torch.no_grad():
    xh, mu_te, _ = vae(X[te])
    _, mu_tr, _ = vae(X[tr])
knn = KNeighborsClassifier(5).fit(mu_tr.numpy(), Y[tr.numpy()])
print("test reconstruction mse:", F.mse_loss(xh, X[te]).item(), "(predicting the mean image: %.4f)" % X[te].var(0).mean())
print("knn accuracy in latent space:", knn.score(mu_te.numpy(), Y[te.numpy()]))
