import torch
import torch.nn as nn
import torch.nn.functional as F

# micro batches of 8, an optimizer step every 10 of them
torch.manual_seed(201)
x = torch.randn(3000, 24)
teacher = nn.Sequential(nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 5))
with torch.no_grad():
    y = (3 * teacher(x)).argmax(1)
xt, yt, x, y = x[2400:], y[2400:], x[:2400], y[:2400]
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
ACC, MB = 10, 8
for epoch in range(20):
    model.train()
    perm = torch.randperm(2400)
    opt.zero_grad(set_to_none=True)
    tot = 0.0
    n_micro = 2400 // MB
    for k in range(n_micro):
        b = perm[k * MB:(k + 1) * MB]
        loss = F.cross_entropy(model(x[b]), y[b])
        (loss / ACC).backward()
        tot += loss.item()
        if (k + 1) % ACC == 0 or k + 1 == n_micro:
            opt.step()
            opt.zero_grad(set_to_none=True)
    model.eval()
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean().item()
    print(f"epoch {epoch} loss {tot / n_micro:.4f} test acc {acc:.3f}")
