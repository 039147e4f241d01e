import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import make_friedman1

torch.manual_seed(0)
torch.set_num_threads(1)
dtype = torch.bfloat16     # half the memory, and no loss scaling needed

X, y = make_friedman1(6000, n_features=10, noise=0.3, random_state=0)
X = torch.tensor((X - 0.5) * 3.4, dtype=dtype)
y = torch.tensor((y - y.mean()) / y.std(), dtype=dtype)[:, None]
train = DataLoader(TensorDataset(X[:5000], y[:5000]), batch_size=64, shuffle=True)
X_test, y_test = X[5000:], y[5000:].float()

model = nn.Sequential(
    nn.Linear(10, 128), nn.SiLU(),
    nn.Linear(128, 128), nn.SiLU(),
    nn.Linear(128, 1),
).to(dtype)
optimizer = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.9)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=30 * len(train))

for epoch in range(30):
    total = 0.0
    for xb, yb in train:
        loss = nn.functional.mse_loss(model(xb).float(), yb.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"[{epoch + 1:02d}/30] mse {total / len(train):.4f}")

with torch.no_grad():
    err = (model(X_test).float() - y_test).pow(2).mean()
print(f"test R2: {1 - err.item() / y_test.var().item():.4f}")
