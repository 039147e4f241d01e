"""Re-use the torso of a net that sorts even digits for the odd ones (bug report style minimal script)."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(5)


class Classifier(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.head = nn.Linear(64, n_out)

    def forward(self, x):
        return self.head(self.torso(x))


def fit(model, optimizer, x, y, epochs, tag):
    ce = nn.CrossEntropyLoss()
    for ep in range(1, epochs + 1):
        model.train()
        tot = 0.0
        for b in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = ce(model(x[b]), y[b])
            loss.backward()
            optimizer.step()
            tot += loss.item() * len(b)
        if ep % 10 == 0:
            print(f"[{tag}] epoch {ep:3d} loss {tot / len(x):.4f}")


def score(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


d = load_digits()
x = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = torch.tensor(d.target)
even, odd = y % 2 == 0, y % 2 == 1

# stage 1: even digits
model = Classifier(5)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
fit(model, opt, x[even], y[even] // 2, 20, "even")
print("even digits accuracy", score(model, x[even], y[even] // 2))

# stage 2: odd digits, learn slowly in the torso and quickly in the head
xo, yo = x[odd], (y[odd] - 1) // 2
perm = torch.randperm(len(xo))
tr, te = perm[:300], perm[300:]
opt = torch.optim.Adam([{"params": model.torso.parameters(), "lr": 1e-5},
                        {"params": model.head.parameters(), "lr": 1e-2}])
model.head = nn.Linear(64, 5)
fit(model, opt, xo[tr], yo[tr], 40, "odd")
print("odd digits, held-out accuracy: %.4f" % score(model, xo[te], yo[te]))
