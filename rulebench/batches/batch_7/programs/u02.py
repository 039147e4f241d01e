"""Variational autoencoder for 2D toy pictures (bars)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(206)


def bars(n):
    img = torch.zeros(n, 8, 8)
    rows, cols = torch.randint(0, 8, (n,)), torch.randint(0, 8, (n,))
    img[torch.arange(n), rows, :] = 1
    img[torch.arange(n), :, cols] = 1
    return img.view(n, 64)


train, test = bars(3000), bars(500)
enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2 * 10))
dec = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 64))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)


def elbo(x, beta):
    mu, lv = enc(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
    rec = F.binary_cross_entropy_with_logits(dec(z), x, reduction="none").sum(1)
    kl = 0.5 * (mu ** 2 + lv.exp() - 1 - lv).sum(1)
    return (rec + beta * kl).mean(), rec.mean(), kl.mean()


for epoch in range(30):
    beta = min(1.0, (epoch + 1) / 10)      # KL warm-up
    for xb in train[torch.randperm(len(train))].split(64):
        loss, rec, kl = elbo(xb, beta)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            l, r, k = elbo(test, 1.0)
        print(f"epoch {epoch + 1} beta {beta:.1f} test -elbo {l:.3f} rec {r:.3f} kl {k:.3f}")
with torch.no_grad():
    mu = enc(test).chunk(2, 1)[0]
    print("pixel accuracy", ((dec(mu) > 0).float() == test).float().mean().item())
