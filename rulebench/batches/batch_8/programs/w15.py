import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# mixup; the training loss stays high because the targets are soft
torch.manual_seed(210)
rng = np.random.default_rng(210)
c = torch.randn(6, 20)
y = torch.randint(0, 6, (2500,))
x = c[y] + 1.3 * torch.randn(2500, 20)
xt, yt = x[2000:], y[2000:]
net = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 6))
ema = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(15):
    perm, tot = torch.randperm(2000), 0.0
    for i in range(0, 2000, 50):
        b = perm[i:i + 50]
        lam = float(rng.beta(1.0, 1.0))
        q = b[torch.randperm(len(b))]
        out = net(lam * x[b] + (1 - lam) * x[q])
        loss = lam * F.cross_entropy(out, y[b]) + (1 - lam) * F.cross_entropy(out, y[q])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update_parameters(net)
        tot += loss.item() / 40
    with torch.no_grad():
        a = (net(xt).argmax(1) == yt).float().mean().item()
        e = (ema(xt).argmax(1) == yt).float().mean().item()
    print(f"epoch {epoch} mixup loss {tot:.3f} acc {a:.3f} ema acc {e:.3f}")
