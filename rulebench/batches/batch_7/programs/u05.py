import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
# Sequences of 20 steps, 3 channels. Class: which channel has the largest sum
N, T, C = 1600, 20, 3
X = torch.randn(N, T, C) + 0.4 * torch.randn(N, 1, C)
y = X.sum(1).argmax(1)
tr = DataLoader(TensorDataset(X[:1280], y[:1280]), batch_size=32, shuffle=True, drop_last=True)
te = DataLoader(TensorDataset(X[1280:], y[1280:]), batch_size=32)


class SeqClassifier(nn.Module):
    def __init__(self, in_dim, hidden, classes):
        super().__init__()
        self.lstm = nn.LSTM(in_dim, hidden, num_layers=1)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


model = SeqClassifier(C, 48, 3)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(15):
    model.train()
    s, k, c = 0.0, 0, 0
    for xb, yb in tr:
        out = model(xb)
        loss = crit(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item() * len(yb)
        c += (out.argmax(1) == yb).sum().item()
        k += len(yb)
    model.eval()
    with torch.no_grad():
        v = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in te) / len(te.dataset)
    print(f"epoch {epoch:2d} loss {s / k:.4f} train acc {c / k:.3f} test acc {v:.3f}")
