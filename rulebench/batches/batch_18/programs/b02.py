# My loss is weird, can somebody tell me what I should look at? sklearn digits, small CNN
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
digits = load_digits()
x = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(digits.target)
idx_tr, idx_te = train_test_split(range(len(y)), test_size=0.25, random_state=0, stratify=digits.target)
train = DataLoader(TensorDataset(x[idx_tr], y[idx_tr]), batch_size=32, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.c1(x)), 2)
        h = F.max_pool2d(F.relu(self.c2(h)), 2)
        h = F.relu(self.fc1(h.flatten(1)))
        return self.fc2(h)


net = Net()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(8):
    net.train()
    running = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(x[idx_te]).argmax(1) == y[idx_te]).float().mean().item()
    print(f"epoch {epoch + 1} loss {running / len(train):.4f} test acc {acc:.3f}")
