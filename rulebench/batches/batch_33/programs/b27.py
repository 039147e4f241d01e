import torch
import torch.nn as nn

# WGAN (Arjovsky et al. 2017), weight clipping version, two moons target
SEED = 5
torch.manual_seed(SEED)
torch.set_num_threads(1)
n_critic, clip, batch = 5, 0.05, 128


def moons(n):
    t = torch.rand(n) * 3.14159
    up = torch.rand(n) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos())
    y = torch.where(up, t.sin(), 0.5 - t.sin())
    return torch.stack([x - 0.5, y - 0.25], 1) + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
C = nn.Sequential(nn.Linear(2, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
opt_g = torch.optim.RMSprop(G.parameters(), lr=3e-4)
opt_c = torch.optim.RMSprop(C.parameters(), lr=3e-4)


def sliced_w(a, b, k=64):
    d = nn.functional.normalize(torch.randn(2, k), dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


def sample(n):
    with torch.no_grad():
        return G(torch.randn(n, 4))


start = sliced_w(sample(2000), moons(2000))
for it in range(1, 2501):
    for _ in range(n_critic):
        fake = sample(batch)
        loss_c = C(fake).mean() - C(moons(batch)).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        with torch.no_grad():
            for p in C.parameters():
                p.clamp_(-clip, clip)
    loss_g = -C(G(torch.randn(batch, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 250 == 0:
        print(f"it {it:5d}  critic {loss_c.item():+.5f}  gen {loss_g.item():+.5f}  SWD {sliced_w(sample(2000), moons(2000)):.4f}")

end = sliced_w(sample(5000), moons(5000))
floor = sliced_w(moons(5000), moons(5000))
print(f"sliced Wasserstein distance: start {start:.4f} end {end:.4f} (real vs real {floor:.4f})")
