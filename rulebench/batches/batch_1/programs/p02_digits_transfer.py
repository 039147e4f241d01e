"""Transfer learning on digits: pretrain on 0-4, then train only a new head for 5-9."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(4)
d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(d.target)
low, high = y < 5, y >= 5


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.c1(x))), 2)
        return F.max_pool2d(F.relu(self.c2(x)), 2).flatten(1)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(128, n)

    def forward(self, x):
        return self.head(self.backbone(x))


def run(net, params, xs, ys, epochs, lr, frozen=False):
    opt = torch.optim.Adam(params, lr=lr)
    n = int(0.8 * len(xs))
    for ep in range(epochs):
        net.train()
        if frozen:
            net.backbone.eval()          # keep batch-norm statistics as they are
        for idx in torch.randperm(n).split(32):
            loss = F.cross_entropy(net(xs[idx]), ys[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(xs[n:]).argmax(1) == ys[n:]).float().mean()
        print(f"  epoch {ep} loss {loss.item():.4f} test acc {acc:.3f}")


net = Net(5)
print("pretraining on digits 0-4")
run(net, net.parameters(), X[low], y[low], 8, 1e-3)

for p in net.backbone.parameters():
    p.requires_grad_(False)
net.head = nn.Linear(128, 5)
print("training the head on digits 5-9")
run(net, net.head.parameters(), X[high], y[high] - 5, 20, 5e-3, frozen=True)
