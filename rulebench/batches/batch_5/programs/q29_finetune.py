import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(d.target)
idx = torch.randperm(len(y))
X, y = X[idx], y[idx]


class SmallNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(32 * 16, n_out)

    def forward(self, x):
        return self.fc(self.features(x))


def run(model, loader, opt, epochs, tag):
    ce = nn.CrossEntropyLoss()
    for ep in range(epochs):
        s, c, n = 0.0, 0, 0
        for xb, yb in loader:
            opt.zero_grad()
            out = model(xb)
            loss = ce(out, yb)
            loss.backward()
            opt.step()
            s += loss.item() * len(yb)
            c += (out.argmax(1) == yb).sum().item()
            n += len(yb)
        if ep % 3 == 2:
            print(f"[{tag}] epoch {ep+1} loss {s/n:.4f} acc {c/n:.4f}")


# source task: digits 0-4
m = y < 5
source = DataLoader(TensorDataset(X[m], y[m]), batch_size=32, shuffle=True)
model = SmallNet(5)
run(model, source, torch.optim.Adam(model.parameters(), lr=1e-3), 6, "source")

# target task: digits 5-9, keep the features and learn a new classifier
m = y >= 5
Xt, yt = X[m], y[m] - 5
target = DataLoader(TensorDataset(Xt[:600], yt[:600]), batch_size=32, shuffle=True)
for p in model.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
model.fc = nn.Linear(32 * 16, 5)
run(model, target, optimizer, 15, "target")
model.eval()
with torch.no_grad():
    print("target test acc: %.4f" % (model(Xt[600:]).argmax(1) == yt[600:]).float().mean().item())
