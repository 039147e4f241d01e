import argparse
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, d=64, h=128, z=8):
        super().__init__()
        self.fc1 = nn.Linear(d, h)
        self.fc_mu = nn.Linear(h, z)
        self.fc_logvar = nn.Linear(h, z)
        self.fc3 = nn.Linear(z, h)
        self.fc4 = nn.Linear(h, d)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def decode(self, z):
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld, bce, kld


def train(epoch, model, loader, opt):
    model.train()
    sums = torch.zeros(3)
    for (x,) in loader:
        opt.zero_grad()
        out = loss_function(*((lambda r: (r[0], x, r[1], r[2]))(model(x))))
        out[0].backward()
        opt.step()
        sums += torch.stack([o.detach() for o in out])
    n = len(loader.dataset)
    print(f"====> Epoch {epoch}: loss {sums[0] / n:.4f} recon {sums[1] / n:.4f} kl {sums[2] / n:.4f}")


@torch.no_grad()
def test(model, x):
    model.eval()
    mu, _ = model.encode(x)
    rec = torch.sigmoid(model.decode(mu))
    base = (x - x.mean(0)).pow(2).mean()
    return (rec - x).pow(2).mean().item(), base.item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--latent", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()
    torch.manual_seed(1)
    x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
    x = x[torch.randperm(len(x))]
    xtr, xte = x[:1500], x[1500:]
    loader = DataLoader(TensorDataset(xtr), args.batch_size, shuffle=True)
    model = VAE(z=args.latent)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        train(epoch, model, loader, opt)
        if epoch % 5 == 0:
            mse, base = test(model, xte)
            print(f"      test reconstruction mse {mse:.4f} (mean image {base:.4f})")


if __name__ == "__main__":
    main()
