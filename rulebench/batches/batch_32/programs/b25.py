# SimCLR on the 8x8 digits: labels are only used for the linear probe at the end
import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)
images, labels = load_digits(return_X_y=True)
images = torch.tensor(images / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
tr, te = train_test_split(range(len(labels)), test_size=0.3, random_state=0, stratify=labels)


def augment(x):
    n = len(x)
    ang = (torch.rand(n) - 0.5) * 0.6
    sc = 1 + (torch.rand(n) - 0.5) * 0.3
    c, s = torch.cos(ang) * sc, torch.sin(ang) * sc
    tx, ty = ((torch.rand(n) - 0.5) * 0.4 for _ in range(2))
    theta = torch.stack([torch.stack([c, -s, tx], 1), torch.stack([s, c, ty], 1)], 1)
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
    return x * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + 0.08 * torch.randn_like(x)


encoder = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Flatten(), nn.Linear(32 * 16, 64))
projector = nn.Sequential(nn.ReLU(), nn.Linear(64, 32))
opt = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], 2e-3)


def nt_xent(z1, z2, tau=0.2):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / tau
    sim.fill_diagonal_(float("-inf"))
    n = len(z1)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


def probe():
    encoder.eval()
    with torch.no_grad():
        h = encoder(images).numpy()
    encoder.train()
    clf = LogisticRegression(max_iter=300).fit(h[tr], labels[tr])
    return clf.score(h[te], labels[te])


print("probe before training: %.4f" % probe())
train_idx = torch.tensor(tr)
for step in range(600):
    x = images[train_idx[torch.randperm(len(tr))[:128]]]
    loss = nt_xent(projector(encoder(augment(x))), projector(encoder(augment(x))))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print("step", step, "nt-xent %.3f" % loss.item())
print("linear probe accuracy after training: %.4f" % probe())
