# digits with a small cnn, my accuracy is printed at the end of every epoch
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]
train = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=32, shuffle=True)
test = DataLoader(TensorDataset(X[1400:], y[1400:]), batch_size=128)


class CNN(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, padding=1)
        self.c2 = nn.Conv2d(width, width * 2, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(width * 2 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


model = CNN(8)
print("params:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

# 8 channels is a bit small, use 16
model = CNN(16)
print("params:", sum(p.numel() for p in model.parameters()))

for epoch in range(8):
    model.train()
    running = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch + 1}: loss {running / len(train):.4f} acc {correct / len(test.dataset):.4f}")
