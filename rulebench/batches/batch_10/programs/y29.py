import torch
from torch import nn
from sklearn.datasets import make_moons

X, y = make_moons(1500, noise=0.2, random_state=0)
X = torch.from_numpy(X).float()
y = torch.from_numpy(y).float().unsqueeze(1)
X_train, y_train, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(2, 16), nn.ReLU(),
    nn.Linear(16, 16), nn.ReLU(),
    nn.Linear(16, 1),
)
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
batch_size = 32

for epoch in range(60):
    order = torch.randperm(len(X_train))
    for start in range(0, len(X_train), batch_size):
        idx = order[start:start + batch_size]
        optimizer.zero_grad()
        loss = loss_fn(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    if (epoch + 1) % 5 == 0:
        with torch.no_grad():
            lg = model(X_test)
            print(f"epoch {epoch + 1}: train loss {loss_fn(model(X_train), y_train):.4f} "
                  f"test loss {loss_fn(lg, y_test):.4f} "
                  f"test acc {((lg > 0) == (y_test > 0.5)).float().mean():.4f}")
