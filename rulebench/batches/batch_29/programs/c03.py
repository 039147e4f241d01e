# Transfer: backbone trained on ten digits (saved from a DataParallel run), reused frozen for even/odd with few labels.
import os, tempfile
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(3)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
y = torch.tensor(y)

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 8)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return F.relu(self.fc(x.flatten(1)))

class Classifier(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(8, n)
    def forward(self, x):
        return self.head(self.backbone(x))

def fit(model, X, y, params, epochs, lr):
    opt = torch.optim.Adam(params, lr=lr)
    for ep in range(epochs):
        perm = torch.randperm(len(X)); tot = 0.
        for i in range(0, len(X), 32):
            b = perm[i:i + 32]
            loss = F.cross_entropy(model(X[b]), y[b])
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item() * len(b)
        if ep % 10 == 9:
            print(f"  epoch {ep+1:3d} loss {tot/len(X):.4f}")

print("source task (all ten digits, first half)")
half = len(X) // 2
src = nn.DataParallel(Classifier(10))
fit(src, X[:half], y[:half], src.parameters(), 40, 2e-3)
path = os.path.join(tempfile.mkdtemp(), "source.pt")
torch.save(src.state_dict(), path)

print("target task (is the digit even or odd, few labels)")
Xt, yt = X[half:], y[half:] % 2
Xtr, Xte, ytr, yte = train_test_split(Xt, yt, train_size=150, random_state=0, stratify=yt)
model = Classifier(2)
state = torch.load(path)
state = {k: v for k, v in state.items() if "head" not in k}
model.load_state_dict(state, strict=False)   # head differs, so not strict
for p in model.backbone.parameters():
    p.requires_grad = False
fit(model, Xtr, ytr, model.head.parameters(), 120, 1e-2)
model.eval()
with torch.no_grad():
    acc = (model(Xte).argmax(1) == yte).float().mean().item()
print(f"target test accuracy: {acc:.4f}")
