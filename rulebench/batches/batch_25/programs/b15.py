"""VQ-VAE with an EMA codebook on digit images (single latent per 2x2 patch)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(1234)
K, D, DECAY, BETA = 48, 8, 0.97, 0.25


class Codebook(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.randn(K, D) * 0.1)
        self.register_buffer("n", torch.ones(K))
        self.register_buffer("m", self.codes.clone())

    @torch.no_grad()
    def update(self, flat, idx):
        onehot = F.one_hot(idx, K).float()
        self.n.mul_(DECAY).add_(onehot.sum(0), alpha=1 - DECAY)
        self.m.mul_(DECAY).add_(onehot.T @ flat, alpha=1 - DECAY)
        self.codes.copy_(self.m / self.n.clamp(min=1e-3).unsqueeze(1))
        dead = self.n < 0.05
        if dead.any():  # restart unused codes at random encoder outputs
            pick = flat[torch.randint(len(flat), (int(dead.sum()),))]
            self.codes[dead] = pick
            self.m[dead] = pick
            self.n[dead] = 1.0

    def forward(self, z):
        flat = z.reshape(-1, D)
        idx = torch.cdist(flat.detach(), self.codes).argmin(1)
        q = self.codes[idx].view_as(z)
        if self.training:
            self.update(flat.detach(), idx)
        commit = F.mse_loss(z, q.detach())
        return z + (q - z).detach(), commit, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, D))
        self.book = Codebook()
        self.dec = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        q, commit, idx = self.book(self.enc(x))
        return self.dec(q), commit, idx


img = torch.tensor(load_digits().images, dtype=torch.float32) / 16
patches = img.unfold(1, 2, 2).unfold(2, 2, 2).reshape(len(img), 16, 4)
patches = patches[torch.randperm(len(patches))]
train, test = patches[:1500], patches[1500:]

model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1500):
    x = train[torch.randint(len(train), (64,))]
    rec, commit, idx = model(x)
    loss = F.mse_loss(rec, x) + BETA * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 250 == 249:
        print(step + 1, "loss %.5f commit %.5f used codes %d" % (loss.item(), commit.item(), idx.unique().numel()))

model.eval()
with torch.no_grad():
    rec, _, idx = model(test)
    mse = F.mse_loss(rec, test).item()
print("held-out reconstruction mse %.5f, variance of the data %.5f, codes used %d/%d"
      % (mse, test.var().item(), idx.unique().numel(), K))
