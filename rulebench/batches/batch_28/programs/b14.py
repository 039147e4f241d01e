import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

# Activity recognition from 6 sensor channels with a GRU
torch.manual_seed(0)
rng = np.random.default_rng(0)
CH, T, CLASSES = 6, 40, 5


def simulate(n):
    y = rng.integers(CLASSES, size=n)
    t = np.arange(T)
    x = np.empty((n, T, CH), "float32")
    freqs = 0.4 + 0.22 * np.arange(CLASSES)
    for c in range(CH):
        ph = rng.uniform(0, 2 * np.pi, n)[:, None]
        gain = (1.0 if c % 2 == 0 else 0.3) * rng.uniform(0.5, 1.5, n)[:, None]
        x[:, :, c] = gain * np.sin(freqs[y][:, None] * t + ph) + 0.3 * rng.normal(size=(n, T))
    return torch.from_numpy(x), torch.from_numpy(y)


class HARNet(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.gru = nn.GRU(CH, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(hidden, CLASSES))

    def forward(self, x):
        # the loader gives (batch, time, channel), nn.GRU wants (time, batch, channel)
        b, t, c = x.shape
        x = x.reshape(t, b, c)
        _, h = self.gru(x)
        return self.classifier(self.norm(h[-1]))


x_tr, y_tr = simulate(1500)
x_te, y_te = simulate(600)
mu, sd = x_tr.mean((0, 1)), x_tr.std((0, 1))
x_tr, x_te = (x_tr - mu) / sd, (x_te - mu) / sd
loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=50, shuffle=True)

net = HARNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    net.train()
    total = correct = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        out = net(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
        correct += (out.argmax(1) == yb).sum().item()
    net.eval()
    with torch.no_grad():
        acc = (net(x_te).argmax(1) == y_te).float().mean().item()
    print("Epoch %d: loss %.4f, train acc %.3f, test acc %.3f" % (epoch, total / 1500, correct / 1500, acc))
print("Final test accuracy: %.3f" % acc)
