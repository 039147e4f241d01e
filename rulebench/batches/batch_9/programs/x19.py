import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
# sensor sequences, 4 channels, 30 steps, 3 activities
def data(n):
    y = torch.randint(0, 3, (n,))
    f = torch.tensor([0.3, 0.7, 1.3])[y]
    t = torch.arange(30.0)
    ph = torch.rand(n, 1, 4) * 6.28
    x = torch.sin(f[:, None, None] * t[None, :, None] + ph) + 0.3 * torch.randn(n, 30, 4)
    return x, y
Xtr, ytr = data(960)
Xte, yte = data(320)
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=32, shuffle=True)

class SensorLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(input_size=4, hidden_size=32, num_layers=1)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        o, _ = self.lstm(x)
        return self.out(o[:, -1, :])

model = SensorLSTM()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    tl = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        tl += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(Xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch:02d} train loss {tl / len(loader):.3f} test acc {acc:.3f}")
