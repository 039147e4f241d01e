# predicting concrete strength with a small MLP
import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(3)
n = 1200
cement = rng.uniform(100, 540, n)
water = rng.uniform(120, 250, n)
age = rng.integers(1, 365, n)
ash = rng.uniform(0, 200, n)
strength = 0.09 * cement - 0.15 * water + 9 * np.log(age) + 0.04 * ash + rng.normal(0, 3, n) + 10
X = np.stack([cement, water, age, ash], 1)

X_tr, X_te, y_tr, y_te = train_test_split(X, strength, test_size=0.2, random_state=0)
sc = StandardScaler().fit(X_tr)
X_tr = torch.tensor(sc.transform(X_tr), dtype=torch.float32)
X_te = torch.tensor(sc.transform(X_te), dtype=torch.float32)
m, s = y_tr.mean(), y_tr.std()
y_tr = torch.tensor((y_tr - m) / s, dtype=torch.float32)
y_te = torch.tensor((y_te - m) / s, dtype=torch.float32)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X_tr, y_tr), batch_size=32, shuffle=True)

for epoch in range(60):
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        pred = model(xb)
        loss = loss_fn(pred, yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: train mse {total / len(X_tr):.4f}")

model.eval()
with torch.no_grad():
    p = model(X_te).squeeze(1)
r2 = 1 - ((p - y_te) ** 2).sum() / ((y_te - y_te.mean()) ** 2).sum()
print("test R2", round(r2.item(), 3))
