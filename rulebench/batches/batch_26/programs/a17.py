import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(9)

# ------------------------------------------------------------------
# step 1: "pretrained" network: digits 0-5
# step 2: new task with four classes: digits 6-9, new classifier on top
# ------------------------------------------------------------------
X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).div(16).view(-1, 1, 8, 8)
y = torch.tensor(y)
p = torch.randperm(len(X))
X, y = X[p], y[p]
old, new = y < 6, y >= 6


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten())
        self.fc = nn.Linear(128, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def fit(net, optimizer, X, y, epochs, name):
    crit = nn.CrossEntropyLoss()
    for ep in range(epochs):
        net.train()
        tot = 0
        for i in torch.randperm(len(X)).split(32):
            optimizer.zero_grad()
            loss = crit(net(X[i]), y[i])
            loss.backward()
            optimizer.step()
            tot += loss.item() * len(i)
        if ep % 5 == 4:
            print(f"{name} epoch {ep + 1} loss {tot / len(X):.4f}")


def accuracy(net, X, y):
    net.eval()
    with torch.no_grad():
        return (net(X).argmax(1) == y).float().mean().item()


net = Net(6)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
fit(net, optimizer, X[old][:800], y[old][:800], 10, "source")
print("source accuracy", round(accuracy(net, X[old][800:], y[old][800:]), 4))

for param in net.features.parameters():
    param.requires_grad = False
net.fc = nn.Linear(128, 4)

Xn, yn = X[new], y[new] - 6
fit(net, optimizer, Xn[:450], yn[:450], 30, "target")
print("target accuracy", round(accuracy(net, Xn[450:], yn[450:]), 4))
