import torch
import torch.nn as nn
from sklearn.datasets import load_iris

torch.manual_seed(0)
X, y = load_iris(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y)
perm = torch.randperm(150)
tr, te = perm[:110], perm[110:]
X = (X - X[tr].mean(0)) / X[tr].std(0)

model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3), nn.LogSoftmax(dim=1))
crit = nn.NLLLoss()
opt = torch.optim.Adadelta(model.parameters(), lr=1.0)
for epoch in range(200):
    opt.zero_grad()
    loss = crit(model(X[tr]), y[tr])
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        acc = (model(X[te]).argmax(1) == y[te]).float().mean()
        print(epoch, loss.item(), acc.item())
with torch.no_grad():
    print("final accuracy", (model(X[te]).argmax(1) == y[te]).float().mean().item())
