"""Regression of the California-style friedman function with a residual MLP."""
import math
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

torch.manual_seed(0)

X, y = make_friedman1(n_samples=4000, n_features=10, noise=0.5, random_state=0)
X = (X - X.mean(0)) / X.std(0)
y = (y - y.mean()) / y.std()
X_train, X_test, y_train, y_test = train_test_split(
    torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32), test_size=0.25, random_state=0
)


class ResidualBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim * 2)
        self.fc2 = nn.Linear(dim * 2, dim)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, n_in, dim=64, depth=3):
        super().__init__()
        self.stem = nn.Linear(n_in, dim)
        self.blocks = nn.Sequential(*[ResidualBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x))).squeeze(-1)


EPOCHS = 14
BATCH = 50
model = ResMLP(X_train.shape[1])
model = model.to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=4e-3, momentum=0.0)
steps = EPOCHS * len(X_train) // BATCH
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

for epoch in range(EPOCHS):
    perm = torch.randperm(len(X_train))
    epoch_loss = 0.0
    for i in range(0, len(X_train), BATCH):
        idx = perm[i : i + BATCH]
        xb, yb = X_train[idx], y_train[idx]
        pred = model(xb.to(torch.bfloat16))
        loss = nn.functional.mse_loss(pred.float(), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        epoch_loss += loss.item() * len(idx)
    print(f"epoch {epoch + 1:2d}/{EPOCHS}  mse {epoch_loss / len(X_train):.4f}  lr {scheduler.get_last_lr()[0]:.2e}")

with torch.no_grad():
    pred = model(X_test.to(torch.bfloat16)).float()
rmse = math.sqrt(nn.functional.mse_loss(pred, y_test).item())
r2 = 1 - ((pred - y_test) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
print(f"test RMSE {rmse:.4f}  R2 {r2.item():.4f}")
