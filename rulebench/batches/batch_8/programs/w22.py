import numpy as np
import torch
import torch.nn as nn

# half precision to save memory on my laptop
torch.manual_seed(6)
rng = np.random.default_rng(6)
X = rng.normal(size=(3000, 20))
y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype("int64")
X, y = torch.tensor(X, dtype=torch.float16), torch.tensor(y)

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)).half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    order = torch.randperm(2400)
    losses = []
    for i in range(0, 2400, 60):
        b = order[i:i + 60]
        optimizer.zero_grad()
        loss = criterion(model(X[b]), y[b])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        acc = (model(X[2400:]).argmax(1) == y[2400:]).float().mean().item()
    print(epoch, "loss", np.mean(losses), "val acc", acc)
