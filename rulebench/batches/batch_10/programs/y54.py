import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# classify machine vibration sequences: is the mean frequency rising or falling?
torch.manual_seed(13)
N, T, F_IN = 2400, 30, 4


def make(n):
    y = torch.randint(0, 2, (n,))
    slope = (y.float() * 2 - 1) * torch.empty(n).uniform_(0.01, 0.03)
    t = torch.arange(T).float()
    level = torch.randn(n, 1) * 0.5
    base = level + slope[:, None] * (t - T / 2)[None]
    gains = torch.tensor([1.0, -0.7, 0.5, 1.3])
    x = base[..., None] * gains + 0.15 * torch.randn(n, T, F_IN)
    return x, y


x, y = make(N)
train_loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=40, shuffle=True)
test_loader = DataLoader(TensorDataset(x[2000:], y[2000:]), batch_size=40)


class SeqClassifier(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(F_IN, hidden, num_layers=1)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(self.drop(out[:, -1]))


model = SeqClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    model.train()
    tl = 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        tl += loss.item()
    model.eval()
    ok = 0
    with torch.no_grad():
        for xb, yb in test_loader:
            ok += (model(xb).argmax(1) == yb).sum().item()
    print(f"[{epoch}] loss {tl / len(train_loader):.4f} test acc {ok / 400:.3f}")
