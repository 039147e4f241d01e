# house prices homework: linear regression with gradient descent in pytorch
import numpy as np
import torch

np.random.seed(0)
torch.manual_seed(0)
n = 600
sqft = np.random.uniform(600, 4000, n)
rooms = np.random.randint(1, 7, n)
age = np.random.uniform(0, 80, n)
dist = np.random.exponential(6, n)
price = 40 + 0.11 * sqft + 8 * rooms - 0.5 * age - 2.0 * dist + np.random.randn(n) * 20   # in thousands

X = np.stack([sqft, rooms, age, dist], axis=1)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(price, dtype=torch.float32).unsqueeze(1)
y = (y - y.mean()) / y.std()
X_train, y_train, X_val, y_val = X[:450], y[:450], X[450:], y[450:]

model = torch.nn.Linear(4, 1)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(300):
    optimizer.zero_grad()
    loss = criterion(model(X_train), y_train)
    loss.backward()
    optimizer.step()
    if epoch % 30 == 0 or epoch == 299:
        with torch.no_grad():
            val = criterion(model(X_val), y_val)
        print("epoch", epoch, "train", loss.item(), "val", val.item())

print("weights", model.weight.data, "bias", model.bias.data)
