import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

torch.manual_seed(7)

digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32) / 16.0
y = digits.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=7, stratify=y)


class VAE(nn.Module):
    """Small fully connected variational autoencoder for 8x8 digits."""

    def __init__(self, latent_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.fc_mu = nn.Linear(64, latent_dim)
        self.fc_logvar = nn.Linear(64, latent_dim)
        self.decoder = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))

    def encode(self, x):
        h = self.encoder(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.decoder(z), mu, logvar


def loss_function(recon_logits, x, mu, logvar):
    recon = F.binary_cross_entropy_with_logits(recon_logits, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return recon + kld, recon, kld


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X_train), batch_size=64, shuffle=True)

for epoch in range(1, 81):
    model.train()
    total = 0.0
    for (xb,) in loader:
        recon_logits, mu, logvar = model(xb)
        loss, recon, kld = loss_function(recon_logits, xb, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  loss {total / len(X_train):.4f}")

model.eval()
with torch.no_grad():
    z_train, _ = model.encode(X_train)
    z_test, _ = model.encode(X_test)
    rec = torch.sigmoid(model.decoder(z_test))
print(f"test reconstruction MSE: {F.mse_loss(rec, X_test).item():.4f}")

probe = LogisticRegression(max_iter=2000).fit(z_train.numpy(), y_train)
print(f"accuracy of a linear probe on the latent means: {probe.score(z_test.numpy(), y_test):.3f}")
