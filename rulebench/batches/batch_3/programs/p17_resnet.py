import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

SEED = 31
torch.manual_seed(SEED)

# hyper parameters, scaled down from the ResNet paper
EPOCHS = 15
BATCH = 64
LR = 0.02

digits = load_digits()
X = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
X = (X - X.mean()) / X.std()
y = torch.tensor(digits.target)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=SEED, stratify=y)
train_loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=BATCH, shuffle=True)
test_loader = DataLoader(TensorDataset(Xte, yte), batch_size=256)


class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(cout)
        self.c2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(cout)
        self.skip = nn.Identity() if stride == 1 and cin == cout else nn.Conv2d(cin, cout, 1, stride)

    def forward(self, x):
        h = F.relu(self.b1(self.c1(x)))
        return F.relu(self.b2(self.c2(h)) + self.skip(x))


class TinyResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 3, 1, 1)
        self.layers = nn.Sequential(Block(12, 12), Block(12, 24, 2), Block(24, 24))
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        return self.fc(self.layers(F.relu(self.stem(x))).mean(dim=(2, 3)))


model = TinyResNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        correct = sum((model(a).argmax(1) == b).sum().item() for a, b in test_loader)
    print(f"Epoch {epoch + 1}/{EPOCHS} loss {running / len(Xtr):.4f} test acc {correct / len(Xte):.4f}")
