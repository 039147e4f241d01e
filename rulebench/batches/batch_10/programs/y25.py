import torch
import torch.nn as nn
from sklearn.datasets import make_classification

# fine-tuning: bottom frozen, middle with a small learning rate, new head with a large one
torch.manual_seed(202)
X, y = make_classification(3000, 20, n_informative=10, n_classes=5, n_clusters_per_class=1, class_sep=1.0, random_state=202)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)
coarse = (y > 2).long()


def accuracy(m, x, t):
    m.eval()
    with torch.no_grad():
        return (m(x).argmax(1) == t).float().mean().item()


def fit(m, opt, x, t, epochs):
    for e in range(epochs):
        m.train()
        perm = torch.randperm(len(x))
        s = 0
        for i in range(0, len(x), 50):
            b = perm[i:i + 50]
            loss = nn.functional.cross_entropy(m(x[b]), t[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += loss.item()
        print(f"  epoch {e} loss {s / (len(x) // 50):.4f}")


bottom = nn.Sequential(nn.Linear(20, 128), nn.ReLU())
middle = nn.Sequential(nn.Linear(128, 64), nn.ReLU())
pre = nn.Sequential(bottom, middle, nn.Linear(64, 2))
print("pretraining")
fit(pre, torch.optim.Adam(pre.parameters(), lr=1e-3), X[:1500], coarse[:1500], 8)

for p in bottom.parameters():
    p.requires_grad_(False)
head = nn.Linear(64, 5)
model = nn.Sequential(bottom, middle, head)
opt = torch.optim.AdamW([
    {"params": middle.parameters(), "lr": 5e-4},
    {"params": head.parameters(), "lr": 5e-3},
], weight_decay=0.01)
print("fine-tuning")
fit(model, opt, X[1500:2500], y[1500:2500], 20)
print("test accuracy", accuracy(model, X[2500:], y[2500:]))
