import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

p = argparse.ArgumentParser(description="SimCLR on digits scattered on a 12x12 canvas, nearest neighbours with few labels")
p.add_argument("--epochs", type=int, default=25)
p.add_argument("--bs", type=int, default=128)
p.add_argument("--temp", type=float, default=0.3)
p.add_argument("--seed", type=int, default=5)
args = p.parse_args()
torch.manual_seed(args.seed)
SIZE = 12


class RandomAugment:
    """Random shift (up to 2 px), gain and noise, reproducible per step."""

    def __init__(self, seed):
        self.seed = seed
        self.step = 0

    def __call__(self, x):
        g = torch.Generator().manual_seed(self.seed + self.step)
        n = x.shape[0]
        pad = F.pad(x, (2, 2, 2, 2))
        dy = torch.randint(0, 5, (n,), generator=g)
        dx = torch.randint(0, 5, (n,), generator=g)
        rows = dy[:, None] + torch.arange(SIZE)
        cols = dx[:, None] + torch.arange(SIZE)
        x = pad[torch.arange(n)[:, None, None], 0, rows[:, :, None], cols[:, None, :]].unsqueeze(1)
        x = x * (0.6 + 0.8 * torch.rand(n, 1, 1, 1, generator=g))
        return x + 0.1 * torch.randn(x.shape, generator=g)


def nt_xent(z1, z2, t):
    n = len(z1)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / t
    sim.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, target)


d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16
y = d.target
canvas = torch.zeros(len(x), 1, SIZE, SIZE)
where = torch.Generator().manual_seed(1)
for i, (r, c) in enumerate(torch.randint(0, 5, (len(x), 2), generator=where).tolist()):
    canvas[i, :, r:r + 8, c:c + 8] = x[i]
x = canvas
perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
x, y = x[perm], y[perm.numpy()]
unlabeled, x_test, y_test = x[:1300], x[1300:], y[1300:]

encoder = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Conv2d(32, 48, 3, padding=1, stride=2), nn.BatchNorm2d(48), nn.ReLU(),
    nn.Flatten(), nn.Linear(48 * 36, 64))
projector = nn.Sequential(nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
opt = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=1e-3, weight_decay=1e-5)
augment = RandomAugment(args.seed)

for epoch in range(1, args.epochs + 1):
    encoder.train()
    losses = []
    for idx in torch.randperm(len(unlabeled)).split(args.bs):
        xb = unlabeled[idx]
        v1 = augment(xb)
        v2 = augment(xb)
        augment.step += 1
        loss = nt_xent(projector(encoder(v1)), projector(encoder(v2)), args.temp)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 5 == 0:
        print(f"epoch {epoch}/{args.epochs} nt-xent {sum(losses) / len(losses):.4f}")

encoder.eval()
with torch.no_grad():
    f_tr, f_te = encoder(unlabeled[:200]).numpy(), encoder(x_test).numpy()
f_tr, f_te = [f / (f ** 2).sum(1, keepdims=True) ** 0.5 for f in (f_tr, f_te)]
probe = KNeighborsClassifier(3).fit(f_tr, y[:200])
print("3-NN accuracy (200 labels):", round(probe.score(f_te, y_test), 4))
