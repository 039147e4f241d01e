import torch
import torch.nn as nn

# contrastive (siamese) embedding for vibration signatures, 12 machine states
g = torch.Generator().manual_seed(5)
torch.manual_seed(5)
N, D, K = 40000, 40, 12
proto = torch.randn(K, D, generator=g)
lab = torch.randint(0, K, (N,), generator=g)
data = proto[lab] + 0.8 * torch.randn(N, D, generator=g)


class Tower(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(),
                               nn.Linear(64, 64), nn.ReLU(),
                               nn.Linear(64, d_out))

    def forward(self, x):
        return self.f(x)


def pair_loss(za, zb, same, margin=2.0):
    d = torch.sqrt(((za - zb) ** 2).sum(dim=1))
    pos = same * d ** 2
    neg = (1 - same) * torch.relu(margin - d) ** 2
    # about 1 pair in 12 is a positive one; bring the two halves to the same weight
    return (6.0 * pos + 0.55 * neg).mean()


tower = Tower(D, 8)
opt = torch.optim.Adam(tower.parameters(), lr=1e-3)
B = 24
for step in range(2400):
    i = torch.randint(0, N, (B,), generator=g)
    j = torch.randint(0, N, (B,), generator=g)
    same = (lab[i] == lab[j]).float()
    loss = pair_loss(tower(data[i]), tower(data[j]), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

with torch.no_grad():
    z = tower(data)
    cent = torch.stack([z[lab == k].mean(0) for k in range(K)])
    pred = torch.cdist(z, cent).argmin(1)
print("nearest-centroid accuracy", (pred == lab).float().mean().item())
