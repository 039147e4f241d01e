import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
ACCUM = 4
EPOCHS = 25
EMA_DECAY = 0.98

X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
y = torch.tensor(y)
itr, ite = train_test_split(range(len(y)), test_size=0.2, random_state=0, stratify=y)
train = DataLoader(TensorDataset(X[itr], y[itr]), batch_size=32, shuffle=True, drop_last=True)
Xte, yte = X[ite], y[ite]

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.SiLU(),
    nn.Flatten(), nn.Linear(32 * 16, 10),
)
ema = copy.deepcopy(net)
for p in ema.parameters():
    p.requires_grad_(False)


def update_ema():
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), net.parameters()):
            pe.mul_(EMA_DECAY).add_(p, alpha=1 - EMA_DECAY)


opt = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=0.02)
crit = nn.CrossEntropyLoss()
updates = 0
for epoch in range(EPOCHS):
    net.train()
    opt.zero_grad()
    running, pending = 0.0, 0
    for i, (xb, yb) in enumerate(train):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = net(xb)
        loss = crit(out.float(), yb)
        (loss / ACCUM).backward()
        running += loss.item()
        pending += 1
        if pending == ACCUM:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            update_ema()
            updates += 1
            pending = 0
    if epoch % 3 == 2 or epoch == EPOCHS - 1:
        net.eval(), ema.eval()
        with torch.no_grad():
            a = (net(Xte).argmax(1) == yte).float().mean().item()
            b = (ema(Xte).argmax(1) == yte).float().mean().item()
        print(f"epoch {epoch+1:2d} updates {updates} loss {running/len(train):.4f} raw acc {a:.4f} ema acc {b:.4f}")
