import torch
import torch.nn as nn
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(1)
X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=1)

sx = StandardScaler().fit(X_train)
sy = StandardScaler().fit(y_train.reshape(-1, 1))
X_train = torch.tensor(sx.transform(X_train), dtype=torch.float32)
X_test = torch.tensor(sx.transform(X_test), dtype=torch.float32)
y_train = torch.tensor(sy.transform(y_train.reshape(-1, 1)), dtype=torch.float32)
y_test = torch.tensor(sy.transform(y_test.reshape(-1, 1)), dtype=torch.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 32)
        self.fc2 = nn.Linear(32, 16)
        self.fc3 = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        x = torch.relu(self.fc3(x))
        return x


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-3)
loss_fn = nn.MSELoss()

for epoch in range(60):
    net.train()
    perm = torch.randperm(len(X_train))
    total = 0
    for i in range(0, len(perm), 16):
        idx = perm[i:i + 16]
        opt.zero_grad()
        loss = loss_fn(net(X_train[idx]), y_train[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 10 == 9:
        net.eval()
        with torch.no_grad():
            p = net(X_test)
            r2 = 1 - ((p - y_test) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
        print(f"epoch {epoch + 1} train {total / len(perm):.4f} test mse {loss_fn(p, y_test):.4f} r2 {r2:.3f}")
print("prediction range", float(p.min()), float(p.max()))
