import torch, contextlib
from torch import nn
from sklearn.datasets import load_digits

# digits with bf16 autocast + 4x gradient accumulation, the way we do it on the big box
torch.manual_seed(3)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).div_(16).view(-1, 1, 8, 8)
y = torch.tensor(y)
perm = torch.randperm(len(X))
tr, te = perm[:1440], perm[1440:]

net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                    nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                    nn.Flatten(), nn.Linear(256, 10))
decay, plain = [], []
for n, p in net.named_parameters():
    (plain if p.ndim == 1 else decay).append(p)
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}], lr=2e-3)
ACC, MB = 4, 12
for epoch in range(6):
    net.train()
    order = tr[torch.randperm(len(tr))].split(MB)
    logged = 0.0
    for k, idx in enumerate(order):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = net(X[idx])
            loss = nn.functional.cross_entropy(out, y[idx]) / ACC
        loss.backward()
        logged += loss.item() * ACC
        if (k + 1) % ACC == 0:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
    net.eval()
    with torch.inference_mode():
        acc = (net(X[te]).argmax(1) == y[te]).float().mean().item()
    print(f"epoch {epoch} mean micro-batch loss {logged / len(order):.4f} test acc {acc:.3f}")
