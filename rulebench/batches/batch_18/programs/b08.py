import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(42)
X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)

sx, sy = StandardScaler(), StandardScaler()
X_train = torch.tensor(sx.fit_transform(X_train), dtype=torch.float32)
X_test = torch.tensor(sx.transform(X_test), dtype=torch.float32)
t_train = torch.tensor(sy.fit_transform(y_train.reshape(-1, 1)), dtype=torch.float32)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1), nn.ReLU())
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)

for epoch in range(60):
    model.train()
    perm = torch.randperm(len(X_train))
    total = 0
    for i in range(0, len(perm), 32):
        b = perm[i:i + 32]
        loss = loss_fn(model(X_train[b]), t_train[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            pred = sy.inverse_transform(model(X_test).numpy())
        rmse = np.sqrt(np.mean((pred[:, 0] - y_test) ** 2))
        print(f"epoch {epoch+1}: train mse {total / len(perm):.3f}  test rmse {rmse:.1f}  r2 {r2_score(y_test, pred[:, 0]):.3f}")
