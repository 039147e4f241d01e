import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)


class VAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mu = nn.Linear(128, latent)
        self.logvar = nn.Linear(128, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo_loss(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp())
    return rec + kl


data = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
perm = torch.randperm(len(data))
train_x, test_x = data[perm[:1400]], data[perm[1400:]]
loader = DataLoader(TensorDataset(train_x), batch_size=64, shuffle=True)

model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate(x):
    model.eval()
    with torch.no_grad():
        logits, mu, logvar = model(x)
        return elbo_loss(logits, x, mu, logvar).item() / len(x)


print("before: %.2f nats per image" % evaluate(test_x))
for epoch in range(1, 61):
    model.train()
    total = 0.0
    for (x,) in loader:
        logits, mu, logvar = model(x)
        loss = elbo_loss(logits, x, mu, logvar)
        optimizer.zero_grad()
        (loss / len(x)).backward()
        optimizer.step()
        total += loss.item()
    if epoch % 10 == 0:
        print("epoch %d  train %.2f  test %.2f" % (epoch, total / len(train_x), evaluate(test_x)))
mean_img = train_x.mean(0).clamp(1e-4, 1 - 1e-4)
base = F.binary_cross_entropy(mean_img.expand_as(test_x), test_x, reduction="sum").item() / len(test_x)
print("negative ELBO on test: %.2f   (pixel-mean model: %.2f)" % (evaluate(test_x), base))
