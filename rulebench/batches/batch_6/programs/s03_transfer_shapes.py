"""Pre-train a small CNN on one set of digit classes and move it to another set."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
rng = np.random.RandomState(0)
d = load_digits()
imgs = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(d.target)

src = labels < 5
dst = ~src
xs, ys = imgs[src], labels[src]
xd, yd = imgs[dst], labels[dst] - 5
perm = torch.randperm(len(xd))
xd, yd = xd[perm], yd[perm]
xd_tr, yd_tr = xd[:500], yd[:500]
xd_te, yd_te = xd[500:], yd[500:]


class ConvNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 2 * 2, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def run(model, opt, x, y, steps, tag):
    model.train()
    for s in range(steps):
        idx = torch.randint(0, len(x), (32,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 100 == 0:
            print(f"[{tag}] step {s} loss {loss.item():.4f}")


net = ConvNet(5)
run(net, torch.optim.Adam(net.parameters(), lr=1e-3), xs, ys, 300, "source")

for p in net.parameters():
    p.requires_grad = False
for p in net.conv2.parameters():
    p.requires_grad = True
optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
net.fc = nn.Linear(32 * 2 * 2, 5)
run(net, optimizer, xd_tr, yd_tr, 300, "target")

net.eval()
with torch.no_grad():
    acc = (net(xd_te).argmax(1) == yd_te).float().mean().item()
print("target test accuracy: %.4f" % acc)
