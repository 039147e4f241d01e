import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
digits = load_digits()
X = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(digits.target)
g = torch.randperm(len(X))
X, y = X[g], y[g]
train_dl = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=32, shuffle=True)
test_dl = DataLoader(TensorDataset(X[1400:], y[1400:]), batch_size=128)


class ConvNet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.c1 = nn.Conv2d(1, channels, 3, padding=1)
        self.c2 = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.fc = nn.Linear(2 * channels * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


model = ConvNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

# bigger variant worked better in the sweep
model = ConvNet(channels=16)

for epoch in range(10):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print("Epoch %d: train loss %.4f, test acc %.3f" % (epoch + 1, running / len(train_dl), correct / 397))
