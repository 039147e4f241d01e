"""WGAN (weight clipping) on a three-cluster point cloud."""
import torch
import torch.nn as nn

torch.manual_seed(2)

Z_DIM = 8
N_CRITIC = 5
CLIP = 0.1
BATCH = 128
GEN_ITERS = 900
CENTRES = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])


def sample_cloud(n):
    k = torch.randint(0, len(CENTRES), (n,))
    return CENTRES[k] + 0.5 * torch.randn(n, 2)


generator = nn.Sequential(nn.Linear(Z_DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

opt_g = torch.optim.RMSprop(generator.parameters(), lr=3e-4)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=3e-4)
directions = nn.functional.normalize(torch.randn(2, 32), dim=0)
holdout = sample_cloud(2000)


@torch.no_grad()
def sliced_distance():
    fake = generator(torch.randn(2000, Z_DIM)) @ directions
    real = holdout @ directions
    return (fake.sort(0).values - real.sort(0).values).abs().mean().item()


@torch.no_grad()
def cluster_shares():
    nearest = torch.cdist(generator(torch.randn(2000, Z_DIM)), CENTRES).argmin(1)
    return [round(s, 2) for s in (torch.bincount(nearest, minlength=3) / 2000).tolist()]


print(f"sliced distance before training {sliced_distance():.3f}")
for it in range(1, GEN_ITERS + 1):
    for _ in range(N_CRITIC):
        real = sample_cloud(BATCH)
        fake = generator(torch.randn(BATCH, Z_DIM)).detach()
        loss_c = critic(fake).mean() - critic(real).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-CLIP, CLIP)

    for p in critic.parameters():
        p.requires_grad_(False)
    loss_g = -critic(generator(torch.randn(BATCH, Z_DIM))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    for p in critic.parameters():
        p.requires_grad_(True)

    if it % 150 == 0:
        print(f"iter {it} W-estimate {-loss_c.item():.4f} loss_G {loss_g.item():.4f} "
              f"sliced distance {sliced_distance():.3f} shares {cluster_shares()}")
