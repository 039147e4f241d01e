# GRU classifier for waveforms (sine / square / saw / chirp) with warmup + linear decay
import numpy as np, torch, torch.nn as nn

torch.manual_seed(1)
rng = np.random.default_rng(1)
T = 40


def waves(n):
    y = rng.integers(0, 4, n)
    t = np.arange(T)[None] / T
    f = rng.uniform(2, 4, (n, 1)); ph = rng.uniform(0, 1, (n, 1))
    u = f * t + ph
    base = [np.sin(2 * np.pi * u), np.sign(np.sin(2 * np.pi * u)), 2 * (u % 1) - 1, np.sin(2 * np.pi * (u + 3 * t ** 2))]
    x = np.choose(y[:, None], base) + 0.15 * rng.normal(size=(n, T))
    return torch.tensor(x[..., None], dtype=torch.float32), torch.tensor(y)


class GRUNet(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, 4)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.fc(h.max(dim=1).values)


base_lr, warmup, total = 3e-3, 50, 600


def lr_at(step):
    """Linear warmup to base_lr, then linear decay."""
    if step < warmup:
        return base_lr * (step + 1) / warmup
    return base_lr * max(0.02, (total - step) / (total - warmup))


x, y = waves(3000)
xv, yv = waves(500)
net = GRUNet()
opt = torch.optim.AdamW(net.parameters(), lr=base_lr, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=lr_at)

avg = None
for step in range(total):
    b = torch.randint(0, len(x), (48,))
    loss = nn.functional.cross_entropy(net(x[b]), y[b])
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step(); sched.step()
    avg = loss.item() if avg is None else 0.95 * avg + 0.05 * loss.item()
    if step % 60 == 0:
        print(f"step {step:4d} | smoothed loss {avg:.4f}")

net.eval()
with torch.no_grad():
    print("validation accuracy", (net(xv).argmax(-1) == yv).float().mean().item())
