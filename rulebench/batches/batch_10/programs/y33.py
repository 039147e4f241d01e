import torch
import torch.nn as nn
from sklearn.datasets import load_digits

# memory-limited setup: batches of two images, GroupNorm instead of BatchNorm
torch.manual_seed(207)
d = load_digits()
X = torch.tensor(d.images / 16, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
p = torch.randperm(len(X))
Xtr, ytr, Xte, yte = X[p[:800]], y[p[:800]], X[p[800:]], y[p[800:]]
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(128, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.005, momentum=0.8)
crit = nn.CrossEntropyLoss()
for epoch in range(6):
    run = 0.0
    for k, b in enumerate(torch.randperm(800).split(2)):
        loss = crit(net(Xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        run = loss.item() if k == 0 and epoch == 0 else 0.98 * run + 0.02 * loss.item()
        if k % 100 == 0:
            print(f"epoch {epoch} batch {k} loss {loss.item():.4f} smoothed {run:.4f}")
    with torch.no_grad():
        print("  test acc %.4f" % (net(Xte).argmax(1) == yte).float().mean().item())
