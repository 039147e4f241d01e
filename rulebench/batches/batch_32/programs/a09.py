# Echo state network for Mackey-Glass, readout trained by SGD (we later want it online).
import torch
from torch import nn

SEED = 9
torch.manual_seed(SEED)


def mackey_glass(n, tau=17):
    hist = [1.2 + 0.1 * float(torch.rand(1)) for _ in range(tau + 1)]
    for _ in range(n):
        xt, xd = hist[-1], hist[-tau - 1]
        hist.append(xt + 0.2 * xd / (1 + xd ** 10) - 0.1 * xt)
    return torch.tensor(hist[tau + 1:])


class ESN(nn.Module):
    def __init__(self, n=300, rho=0.95, leak=0.5):
        super().__init__()
        W = torch.randn(n, n) * (torch.rand(n, n) < 0.05)
        W *= rho / torch.linalg.eigvals(W).abs().max()
        self.register_buffer("W", W)
        self.register_buffer("Win", torch.rand(n, 2) - 0.5)
        self.readout = nn.Linear(n, 1)
        nn.init.zeros_(self.readout.weight)
        nn.init.zeros_(self.readout.bias)
        self.leak = leak

    @torch.no_grad()
    def states(self, u):
        h = torch.zeros(self.W.shape[0])
        out = []
        for v in u:
            x = torch.stack([v, torch.ones(())])
            h = (1 - self.leak) * h + self.leak * torch.tanh(self.W @ h + self.Win @ x)
            out.append(h)
        return torch.stack(out)


series = mackey_glass(4000)
series = series - series[:3000].mean()
HORIZON, WASH = 6, 200
esn = ESN()
H = esn.states(series[:-HORIZON])
Y = series[HORIZON:]
Htr, Ytr = H[WASH:3000], Y[WASH:3000]
Hte, Yte = H[3000:], Y[3000:]

opt = torch.optim.Adam(esn.readout.parameters(), lr=5e-3)
EPOCHS = 160
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, EPOCHS)
for epoch in range(EPOCHS):
    perm = torch.randperm(len(Htr))
    run = 0.0
    for b in perm.split(64):
        loss = ((esn.readout(Htr[b]).squeeze(1) - Ytr[b]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() * len(b)
    sched.step()
    if epoch % 20 == 0:
        print("epoch", epoch, "train mse", run / len(Htr))

with torch.no_grad():
    mse = ((esn.readout(Hte).squeeze(1) - Yte) ** 2).mean()
print("held-out NRMSE %.4f" % (mse.sqrt() / Yte.std()).item())
