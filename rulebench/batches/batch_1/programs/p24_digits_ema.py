import copy
import torch
from torch import nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

# raw weights vs exponential moving average of the weights
torch.manual_seed(8)
d = load_digits()
x = torch.tensor(d.data / 16, dtype=torch.float32)
y = torch.tensor(d.target)
dl = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(model.parameters(), lr=0.15)


def acc(m):
    m.eval()
    with torch.no_grad():
        a = (m(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
    m.train()
    return a


for it in range(2000):
    xb, yb = next(iter(dl))
    loss = nn.functional.cross_entropy(model(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    decay = min(0.995, (1 + it) / (10 + it))
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), model.parameters()):
            pe.lerp_(p, 1 - decay)
    if it % 200 == 0:
        print(f"it {it} loss {loss.item():.3f} acc raw {acc(model):.3f} ema {acc(ema):.3f}")
print("final: raw %.3f ema %.3f" % (acc(model), acc(ema)))
