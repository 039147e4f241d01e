# texture classification with torch.autocast on the CPU
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(3)
rng = np.random.default_rng(3)


def texture(c):
    yy, xx = np.mgrid[:20, :20]
    ang = c * np.pi / 6 + rng.normal(0, 0.06)
    return np.sin((np.cos(ang) * xx + np.sin(ang) * yy) * rng.uniform(0.9, 1.3) + rng.uniform(0, 6)) + rng.normal(0, 0.7, (20, 20))


def make(n):
    y = rng.integers(0, 6, n)
    return torch.tensor(np.stack([texture(c) for c in y])[:, None], dtype=torch.float32), torch.tensor(y)


xtr, ytr = make(1200)
xte, yte = make(400)
net = nn.Sequential(nn.Conv2d(1, 16, 5), nn.GroupNorm(4, 16), nn.GELU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 3), nn.GroupNorm(4, 32), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 6))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=6e-3, total_steps=8 * 38)
crit = nn.CrossEntropyLoss()
step = 0
for epoch in range(8):
    net.train()
    for b in torch.randperm(len(xtr)).split(32):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(xtr[b])
        loss = crit(logits.float(), ytr[b])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        step += 1
    net.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        acc = (net(xte).argmax(1) == yte).float().mean()
    print(f"epoch {epoch} step {step} loss {loss.item():.4f} grad norm {gn:.3f} test acc {acc:.4f}")
