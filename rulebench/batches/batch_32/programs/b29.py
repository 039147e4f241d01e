# training with gradient accumulation because the big batch does not fit on my laptop
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(3)
torch.set_num_threads(1)

digits = load_digits()
X = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(digits.target)
train_set, test_set = random_split(TensorDataset(X, y), [1437, 360],
                                   generator=torch.Generator().manual_seed(0))

MICRO = 16
ACCUM = 8
train_dl = DataLoader(train_set, batch_size=MICRO, shuffle=True, drop_last=True)
test_dl = DataLoader(test_set, batch_size=128)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(25):
    net.train()
    running = 0.0
    for i, (xb, yb) in enumerate(train_dl):
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb) / ACCUM
        loss.backward()
        running += loss.item() * ACCUM
        if (i + 1) % ACCUM == 0:
            opt.step()
    if epoch % 4 == 0 or epoch == 24:
        print(f"epoch {epoch:2d}  train loss {running / len(train_dl):.4f}")

net.eval()
correct = 0
with torch.no_grad():
    for xb, yb in test_dl:
        correct += (net(xb).argmax(1) == yb).sum().item()
print(f"test accuracy: {correct / len(test_set):.4f}")
