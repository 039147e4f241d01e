# feature extraction: train a convnet on digits 0-4, reuse its frozen body for 5-9
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
low, high = y < 5, y >= 5


def body():
    return nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())


def fit(model, X, y, params, epochs, lr, frozen=None):
    n = int(0.7 * len(X))
    opt = torch.optim.SGD(params, lr=lr, momentum=0.9, nesterov=True)
    for ep in range(epochs):
        model.train()
        if frozen is not None:
            frozen.eval()
        for b in torch.randperm(n).split(32):
            loss = nn.functional.cross_entropy(model(X[b]), y[b], label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            acc = (model(X[n:]).argmax(1) == y[n:]).float().mean().item()
        print(f"  epoch {ep + 1} loss {loss.item():.3f} acc {acc:.3f}")


base = body()
print("source task")
src = nn.Sequential(base, nn.Linear(192, 5))
fit(src, X[low], y[low], src.parameters(), 6, 0.02)

print("target task, body frozen")
for p in base.parameters():
    p.requires_grad_(False)
head = nn.Linear(192, 5)
fit(nn.Sequential(base, head), X[high], y[high] - 5, head.parameters(), 8, 0.02, frozen=base)
