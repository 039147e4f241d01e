"""
Effective batch of 64 on a small machine: micro-batches of 8, optimizer moves every 8th one.
"""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(7)
ACCUM = 8
X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16
y = torch.tensor(y)
tr, te = train_test_split(range(len(X)), test_size=0.25, random_state=7, stratify=y)
ds = torch.utils.data.TensorDataset(X[tr], y[tr])
loader = torch.utils.data.DataLoader(ds, batch_size=8, shuffle=True, drop_last=True)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(),
    nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10),
)
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
crit = nn.CrossEntropyLoss(label_smoothing=0.1)

updates = 0
for epoch in range(14):
    model.train()
    total = 0.0
    opt.zero_grad(set_to_none=True)
    for i, (xb, yb) in enumerate(loader):
        loss = crit(model(xb), yb)
        (loss / ACCUM).backward()
        total += loss.item()
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad(set_to_none=True)
            updates += 1
    print(f"epoch {epoch}: loss {total / len(loader):.4f}  ({updates} updates so far)")

model.eval()
with torch.no_grad():
    acc = (model(X[te]).argmax(1) == y[te]).float().mean()
print(f"held-out accuracy: {acc:.4f}")
