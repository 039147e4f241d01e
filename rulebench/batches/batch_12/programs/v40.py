import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X / 16.0, y, test_size=0.2, random_state=1)
X_tr, X_te = torch.tensor(X_tr).float(), torch.tensor(X_te).float()
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.softmax(self.fc2(x), dim=1)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(15):
    perm = torch.randperm(len(X_tr))
    total = 0.0
    for i in range(0, len(X_tr), 32):
        idx = perm[i:i + 32]
        optimizer.zero_grad()
        loss = criterion(net(X_tr[idx]), y_tr[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        acc = (net(X_te).argmax(1) == y_te).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(X_tr):.4f} test acc {acc:.4f}")
