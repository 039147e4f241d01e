"""Residual MLP on the digits for a small card.
The machine only holds 8 rows at a time (pretend), effective batch is 64."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 3
torch.manual_seed(SEED)

X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X / 16.0, y, test_size=0.25, random_state=SEED, stratify=y)
Xtr, Xte = torch.tensor(Xtr, dtype=torch.float32), torch.tensor(Xte, dtype=torch.float32)
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

MICRO, ACCUM, EPOCHS = 8, 8, 30


class Block(nn.Module):
    def __init__(self, d, p=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Dropout(p), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(self.norm(x))


net = nn.Sequential(nn.Linear(64, 64), Block(64), Block(64), nn.LayerNorm(64), nn.Linear(64, 10))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()

updates = 0
for epoch in range(EPOCHS):
    net.train()
    perm = torch.randperm(len(Xtr))
    perm = perm[: len(perm) // (MICRO * ACCUM) * (MICRO * ACCUM)]
    running = 0.0
    for i, idx in enumerate(perm.split(MICRO)):
        loss = criterion(net(Xtr[idx]), ytr[idx]) / ACCUM
        loss.backward()
        running += loss.item()
        if (i + 1) % ACCUM == 0:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
            updates += 1
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            acc = (net(Xte).argmax(1) == yte).float().mean().item()
        print(f"epoch {epoch + 1:3d}  updates {updates:5d}  loss {running / (len(perm) / MICRO / ACCUM):.4f}  test acc {acc:.4f}")

net.eval()
with torch.no_grad():
    acc = (net(Xte).argmax(1) == yte).float().mean().item()
print("final test accuracy: %.4f" % acc)
