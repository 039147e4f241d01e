"""Uncertainty by Monte-Carlo dropout (Gal & Ghahramani) for a dose-response curve.

Prediction = average over 100 stochastic passes, uncertainty = their spread plus the noise level."""
import numpy as np
import torch
from torch import nn

SEED = 25
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)


def curve(x):
    return np.sin(3 * x) + 0.5 * x


x_tr = rng.uniform(-2, 2, 600)
y_tr = curve(x_tr) + 0.1 * rng.normal(size=600)
x_te = rng.uniform(-2, 2, 300)
y_te = curve(x_te) + 0.1 * rng.normal(size=300)
x_far = rng.uniform(4, 5, 100)


def as_t(a):
    return torch.tensor(a, dtype=torch.float32).unsqueeze(1)


class Net(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 128), nn.ReLU(), nn.Dropout(p),
                                    nn.Linear(128, 128), nn.ReLU(), nn.Dropout(p), nn.Linear(128, 1))

    def forward(self, x):
        return self.layers(x)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-6)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=250)
X, Y = as_t(x_tr), as_t(y_tr)


@torch.no_grad()
def mc_predict(x, passes=100):
    net.train()  # dropout stays on
    samples = torch.stack([net(x) for _ in range(passes)])
    return samples.mean(0), samples.std(0)


for epoch in range(1, 251):
    net.train()
    for b in torch.randperm(len(X)).split(60):
        loss = nn.functional.mse_loss(net(X[b]), Y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    if epoch % 50 == 0:
        m, s = mc_predict(as_t(x_te), 20)
        print(f"epoch {epoch} train mse {loss.item():.4f} test rmse {(m - as_t(y_te)).pow(2).mean().sqrt():.4f} spread {s.mean():.4f}")

m, s = mc_predict(as_t(x_te))
_, s_far = mc_predict(as_t(x_far))
r2 = 1 - ((m - as_t(y_te)) ** 2).sum() / ((as_t(y_te) - as_t(y_te).mean()) ** 2).sum()
print("spread inside the data %.3f, outside %.3f" % (s.mean(), s_far.mean()))
print("test R2 %.4f" % r2)
