import torch
from torch import nn, optim
from sklearn.datasets import make_moons

# Arjovsky, Chintala, Bottou (2017), algorithm 1, on two dimensions
torch.manual_seed(23)
CLIP, N_CRITIC, LR, B, NZ = 0.05, 5, 5e-4, 128, 6
cloud = torch.tensor(make_moons(4000, noise=0.05, random_state=23)[0], dtype=torch.float32)
cloud = (cloud - cloud.mean(0)) / cloud.std(0)
held, cloud = cloud[:1000], cloud[1000:]


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, x):
        return self.net(x).mean()


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(NZ, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, n):
        return self.net(torch.randn(n, NZ))


def energy(a, b):
    return float(2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean())


f, g = Critic(), Generator()
opt_f = optim.RMSprop(f.parameters(), lr=LR)
opt_g = optim.RMSprop(g.parameters(), lr=LR)
with torch.no_grad():
    print("energy distance before: %.4f" % energy(g(1000), held))

for it in range(700):
    for p in f.parameters():
        p.requires_grad_(True)
    for _ in range(N_CRITIC):
        x = cloud[torch.randint(0, len(cloud), (B,))]
        with torch.no_grad():
            z = g(B)
        opt_f.zero_grad()
        w = f(x) - f(z)
        (-w).backward()
        opt_f.step()
        with torch.no_grad():
            for p in f.parameters():
                p.clamp_(-CLIP, CLIP)
    for p in f.parameters():
        p.requires_grad_(False)
    opt_g.zero_grad()
    loss_g = -f(g(B))
    loss_g.backward()
    opt_g.step()
    if it % 100 == 0:
        print("it %4d  wasserstein estimate %.5f  generator loss %.5f" % (it, w.item(), loss_g.item()))

with torch.no_grad():
    print("energy distance after : %.4f" % energy(g(1000), held))
