import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(201)
d = load_digits()
p = torch.randperm(1797)
X = torch.tensor(d.images, dtype=torch.float32)[p].unsqueeze(1) / 16
y = torch.tensor(d.target)[p]
train = DataLoader(TensorDataset(X[:1440], y[:1440]), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
accum = 4          # effective batch of 32
for epoch in range(10):
    model.train()
    opt.zero_grad()
    tot = 0
    for i, (xb, yb) in enumerate(train):
        loss = nn.functional.cross_entropy(model(xb), yb)
        (loss / accum).backward()
        tot += loss.item()
        if (i + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
    model.eval()
    with torch.no_grad():
        acc = (model(X[1440:]).argmax(1) == y[1440:]).float().mean().item()
    print(f"epoch {epoch} loss {tot / len(train):.4f} val acc {acc:.3f}")
