"""Mixed precision on CPU: bf16 autocast, gradient accumulation over 4 micro batches, clipping,
OneCycle learning rate. Data: stripes against checkerboards against blobs in noise."""
import numpy as np
import torch
import torch.nn as nn

SEED = 64
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
S = 16


def draw(kind):
    i, j = np.mgrid[:S, :S]
    p = rng.integers(2, 4)
    o = rng.integers(0, 4)
    if kind == 0:
        img = ((i + o) // p) % 2
    elif kind == 1:
        img = ((j + o) // p) % 2
    elif kind == 2:
        img = ((i + o) // p + (j + o) // p) % 2
    else:
        c = rng.uniform(4, 12, 2)
        img = (((i - c[0]) ** 2 + (j - c[1]) ** 2) < rng.uniform(9, 25)).astype(float)
    return img + rng.normal(0, 0.8, (S, S))


kinds = rng.integers(0, 4, 2400)
X = torch.tensor(np.stack([draw(k) for k in kinds])[:, None], dtype=torch.float32)
y = torch.tensor(kinds)
Xtr, ytr, Xte, yte = X[:2000], y[:2000], X[2000:], y[2000:]

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.SiLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(32 * 16, 4),
)
MICRO, ACC, EPOCHS = 16, 4, 8
n_micro = len(Xtr) // MICRO
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=EPOCHS * (n_micro // ACC + 1))
crit = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    perm = torch.randperm(len(Xtr))
    seen, total = 0, 0.0
    opt.zero_grad()
    for k in range(n_micro):
        b = perm[k * MICRO:(k + 1) * MICRO]
        last_group = k >= n_micro - n_micro % ACC
        denom = (n_micro % ACC) if last_group else ACC
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = crit(net(Xtr[b]), ytr[b])
        (loss / denom).backward()
        total += loss.item()
        seen += 1
        if seen % ACC == 0 or k == n_micro - 1:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            sched.step()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        acc = (net(Xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch} loss {total / n_micro:.4f} test acc {acc:.4f} lr {sched.get_last_lr()[0]:.2e}")
