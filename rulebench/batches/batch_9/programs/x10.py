import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

torch.manual_seed(90)
X, y = load_iris(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
Xa, Xb = torch.tensor(Xa, dtype=torch.float32), torch.tensor(Xb, dtype=torch.float32)
ya, yb = torch.tensor(ya), torch.tensor(yb)

class IrisNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        x = F.log_softmax(self.out(x), dim=0)
        return x

net = IrisNet()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(60):
    perm = torch.randperm(len(Xa))
    for i in range(0, len(Xa), 15):
        idx = perm[i:i + 15]
        optimizer.zero_grad()
        loss = criterion(net(Xa[idx]), ya[idx])
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        print("epoch", epoch + 1, "loss", round(loss.item(), 4))
with torch.no_grad():
    lp = net(Xb)
    print("mean test nll", criterion(lp, yb).item())
    print("test accuracy", sum(net(a[None]).argmax(1).item() == b.item() for a, b in zip(Xb, yb)) / len(yb))
