import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(4)
d = load_digits()
x = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
p = torch.randperm(len(x))
x, y = x[p], y[p]

class SmallNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.fc = nn.Linear(128, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))

def train(model, opt, xs, ys, epochs):
    for e in range(epochs):
        tot = 0.0
        for b in torch.randperm(len(xs)).split(32):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(xs[b]), ys[b])
            loss.backward()
            opt.step()
            tot += loss.item() * len(b)
        print("epoch", e, "loss %.4f" % (tot / len(xs)))

def accuracy(model, xs, ys):
    model.eval()
    with torch.no_grad():
        a = (model(xs).argmax(1) == ys).float().mean().item()
    model.train()
    return a

# parity task first
model = SmallNet(2)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
train(model, opt, x[:1300], y[:1300] % 2, 5)
print("parity acc", accuracy(model, x[1300:], y[1300:] % 2))

# now all ten digits with a new head, features as a fixed extractor
for q in model.features.parameters():
    q.requires_grad = False
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
model.fc = nn.Linear(128, 10)
train(model, opt, x[:1300], y[:1300], 12)
print("digit acc", accuracy(model, x[1300:], y[1300:]))
