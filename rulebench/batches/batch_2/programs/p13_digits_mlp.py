"""
Q: how many steps does an MLP need on sklearn digits? I train for a fixed number of
iterations rather than epochs because my real set is a stream.
"""
import numpy as np, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(0)
np.random.seed(0)
X, y = load_digits(return_X_y=True)
p = np.random.permutation(len(X))
X, y = (X[p] / 16).astype(np.float32), y[p]
tr = TensorDataset(torch.from_numpy(X[:1400]), torch.from_numpy(y[:1400]))
te = TensorDataset(torch.from_numpy(X[1400:]), torch.from_numpy(y[1400:]))
loader = DataLoader(tr, batch_size=32)     # data was permuted above already

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)

MAX_ITERS = 1200
for it in range(MAX_ITERS):
    xb, yb = next(iter(loader))
    net.train()
    loss = nn.functional.cross_entropy(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 200 == 0 or it == MAX_ITERS - 1:
        net.eval()
        with torch.no_grad():
            a = (net(te.tensors[0]).argmax(1) == te.tensors[1]).float().mean()
        print(f"iter {it:5d} train loss {loss.item():.4f} test acc {a:.3f}")
