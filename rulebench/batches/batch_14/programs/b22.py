# Autoencoder for anomaly detection on sensor data
import numpy as np
import torch
from torch import nn
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import roc_auc_score

np.random.seed(0)
torch.manual_seed(0)

d, k = 20, 4
W = np.random.randn(k, d)
normal = np.random.randn(3000, k) @ W + 0.2 * np.random.randn(3000, d)
mixed_n = np.random.randn(500, k) @ W + 0.2 * np.random.randn(500, d)
mixed_a = np.random.randn(100, k) @ W + 0.6 * np.random.randn(100, d)
test = np.vstack([mixed_n, mixed_a])
is_anom = np.r_[np.zeros(500), np.ones(100)]

scaler = StandardScaler()
normal = scaler.fit_transform(normal).astype(np.float32)
test = scaler.transform(test).astype(np.float32)

model = nn.Sequential(
    nn.Linear(d, 32), nn.ReLU(),
    nn.Linear(32, 6),
    nn.Linear(6, 32), nn.ReLU(),
    nn.Linear(32, d), nn.Sigmoid(),
)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
x = torch.from_numpy(normal)
for epoch in range(40):
    perm = torch.randperm(len(x))
    ep = []
    for b in perm.split(64):
        out = model(x[b])
        loss = ((out - x[b]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ep.append(loss.item())
    if epoch % 5 == 0:
        print(epoch, np.mean(ep))

with torch.no_grad():
    xt = torch.from_numpy(test)
    score = ((model(xt) - xt) ** 2).mean(1).numpy()
print("final train loss", np.mean(ep))
print("ROC AUC:", roc_auc_score(is_anom, score))
