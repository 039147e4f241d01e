"""Self-supervised features on 8x8 digits with an online and a momentum network."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(4)
digits = load_digits()
X = torch.tensor(digits.images / 16.0, dtype=torch.float32)
y = digits.target
perm = torch.randperm(len(X))
train_ids, test_ids = perm[:1300], perm[1300:]


def augment(x):
    n = len(x)
    dx, dy = torch.randint(-1, 2, (n,)), torch.randint(-1, 2, (n,))
    rows = (torch.arange(8)[None] + dy[:, None]) % 8
    cols = (torch.arange(8)[None] + dx[:, None]) % 8
    x = x[torch.arange(n)[:, None, None], rows[:, :, None], cols[:, None, :]]
    x = x * (0.8 + 0.4 * torch.rand(n, 1, 1)) + 0.1 * torch.randn_like(x)
    return (x * (torch.rand_like(x) > 0.15)).flatten(1)


class Encoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(),
                                      nn.Linear(128, dim), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(),
                                       nn.Linear(64, 32))

    def forward(self, x):
        return self.projector(self.backbone(x))


online = Encoder()
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)
predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
opt = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=1e-3, weight_decay=1e-5)


def regression_loss(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


@torch.no_grad()
def update_target(tau):
    for po, pt in zip(online.parameters(), target.parameters()):
        pt.lerp_(po, 1 - tau)


def probe():
    online.eval()
    with torch.no_grad():
        h = online.backbone(X.flatten(1)).numpy()
    online.train()
    clf = LogisticRegression(max_iter=200).fit(h[train_ids][:200], y[train_ids][:200])
    return clf.score(h[test_ids], y[test_ids]), h.std(0).mean()


print("probe before training: accuracy %.3f, feature std %.3f" % probe())
for epoch in range(20):
    total = steps = 0
    for idx in train_ids[torch.randperm(len(train_ids))].split(128):
        if len(idx) < 2:
            continue
        a, b = augment(X[idx]), augment(X[idx])
        with torch.no_grad():
            ta, tb = target(a), target(b)
        loss = regression_loss(predictor(online(a)), tb) + regression_loss(predictor(online(b)), ta)
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_target(0.97)
        total += loss.item()
        steps += 1
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1} loss {total / steps:.4f}")
print("probe after training: accuracy %.3f, feature std %.3f" % probe())
