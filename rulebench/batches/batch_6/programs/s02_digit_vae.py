# VAE on 8x8 digits, adapted from the well known example
import torch
import torch.nn.functional as F
from torch import nn, optim
from sklearn.datasets import load_digits

torch.manual_seed(1)
data = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
data = data[torch.randperm(len(data))]
train, test = data[:1500], data[1500:]


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc21 = nn.Linear(128, 8)
        self.fc22 = nn.Linear(128, 8)
        self.fc3 = nn.Linear(8, 128)
        self.fc4 = nn.Linear(128, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="mean")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld / x.size(0)


model = VAE()
opt = optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 41):
    model.train()
    s = 0.0
    for i in torch.randperm(len(train)).split(64):
        recon, mu, logvar = model(train[i])
        loss = loss_function(recon, train[i], mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item()
    if epoch % 5 == 0:
        print(f"====> Epoch: {epoch} Average loss: {s / 24:.4f}")

model.eval()
with torch.no_grad():
    mu, _ = model.encode(test)
    mse = ((model.decode(mu) - test) ** 2).mean().item()
print("test reconstruction mse %.5f (mean-image baseline %.5f)" % (mse, ((test - train.mean(0)) ** 2).mean().item()))
