import numpy as np, torch, torch.nn as nn

# GRU forecasts 5 steps ahead, time first layout, chronological split
torch.manual_seed(0)
rng = np.random.default_rng(0)
t = np.arange(3000)
series = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168) + 0.15 * rng.normal(size=3000)
cut = 2300
m, s = series[:cut].mean(), series[:cut].std()
z = (series - m) / s
W, H = 48, 5

def windows(a):
    xs = np.stack([a[i:i + W] for i in range(len(a) - W - H + 1)], axis=1)
    ys = np.stack([a[i + W:i + W + H] for i in range(len(a) - W - H + 1)], axis=0)
    return torch.tensor(xs, dtype=torch.float32).unsqueeze(-1), torch.tensor(ys, dtype=torch.float32)

xtr, ytr = windows(z[:cut])
xte, yte = windows(z[cut:])
print(xtr.shape, ytr.shape)      # (W, N, 1) (N, H)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 32)
        self.out = nn.Linear(32, H)
    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[-1]) + x[-1]

net = Model()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
lf = nn.L1Loss()
naive = (xte[-1] - yte).abs().mean().item()
for ep in range(12):
    net.train()
    acc = []
    for b in torch.randperm(xtr.shape[1]).split(64):
        opt.zero_grad()
        loss = lf(net(xtr[:, b]), ytr[b])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        acc.append(loss.item())
    net.eval()
    with torch.no_grad():
        te = lf(net(xte), yte).item()
    print(f"epoch {ep} train mae {np.mean(acc):.4f} test mae {te:.4f} naive {naive:.4f}")
