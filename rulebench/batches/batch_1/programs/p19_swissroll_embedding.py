# learning an embedding so that distance in it ~ geodesic distance on the swiss roll
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_swiss_roll

np.random.seed(38); torch.manual_seed(38)
N = 6000
X, t = make_swiss_roll(N, noise=0.02, random_state=5)
height = X[:, 1] / 21.0
arc = 0.5 * (t * np.sqrt(1 + t ** 2) + np.arcsinh(t)) / 45.0     # arc length along the roll
flat = torch.tensor(np.stack([arc * 2, height], 1), dtype=torch.float32)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)


class Embed(nn.Module):
    def __init__(self, h=64):
        super(Embed, self).__init__()
        self.l1 = nn.Linear(3, h)
        self.l2 = nn.Linear(h, h)
        self.l3 = nn.Linear(h, 2, bias=False)

    def forward(self, x):
        x = torch.relu(self.l1(x))
        x = torch.relu(self.l2(x))
        return self.l3(x)


def dist(a, b):
    return torch.sqrt(((a - b) ** 2).sum(dim=1))


f = Embed()
optim = torch.optim.Adam(f.parameters(), lr=2e-3)
for it in range(1500):
    i = torch.randint(0, N, (8,))
    j = torch.randint(0, N, (8,))
    target = dist(flat[i], flat[j])
    stress = ((dist(f(X[i]), f(X[j])) - target) ** 2).mean()
    optim.zero_grad()
    stress.backward()
    optim.step()
    if it % 75 == 0:
        print('iter', it, 'stress', round(stress.item(), 5))

with torch.no_grad():
    i, j = torch.randint(0, N, (2, 2000))
    d1, d2 = dist(f(X[i]), f(X[j])).numpy(), dist(flat[i], flat[j]).numpy()
print('correlation of distances:', np.corrcoef(d1, d2)[0, 1])
