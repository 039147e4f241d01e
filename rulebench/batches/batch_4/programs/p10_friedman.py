import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score

SEED = 99
torch.manual_seed(SEED)
np.random.seed(SEED)


class TableDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.from_numpy(X).float()
        self.y = torch.from_numpy(y).float()

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class Regressor(nn.Module):
    def __init__(self, n_features, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x)


def mse(output, target):
    return ((output - target) ** 2).mean()


X, y = make_friedman1(n_samples=1500, n_features=10, noise=0.5, random_state=SEED)
X = (X - 0.5) * 2
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SEED)
mu, sd = y_train.mean(), y_train.std()
train_loader = DataLoader(TableDataset(X_train, (y_train - mu) / sd), batch_size=64, shuffle=True)
test_x = torch.from_numpy(X_test).float()

model = Regressor(X.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(60):
    model.train()
    losses = []
    for xb, yb in train_loader:
        loss = mse(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:3d}  train loss {np.mean(losses):.4f}")

model.eval()
with torch.no_grad():
    pred = model(test_x).numpy().ravel() * sd + mu
print("some predictions:", pred[:5].round(2), "targets:", y_test[:5].round(2))
print("test R2 = %.3f" % r2_score(y_test, pred))
