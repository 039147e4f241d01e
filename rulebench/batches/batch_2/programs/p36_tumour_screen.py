"""Breast-cancer screening MLP. The first layer standardises the raw features itself,
so that deployment does not have to ship a scaler file."""
import torch
from torch import nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

torch.manual_seed(7)
X, y = load_breast_cancer(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
Xa, Xb = torch.tensor(Xa, dtype=torch.float32), torch.tensor(Xb, dtype=torch.float32)
ya, yb = torch.tensor(ya, dtype=torch.float32), torch.tensor(yb, dtype=torch.float32)


class Screen(nn.Module):
    def __init__(self, n_in=30, bn_momentum=0.001):
        super().__init__()
        self.inorm = nn.BatchNorm1d(n_in, affine=False, momentum=bn_momentum)
        self.fc1 = nn.Linear(n_in, 32)
        self.bn1 = nn.BatchNorm1d(32, momentum=bn_momentum)
        self.drop = nn.Dropout(0.1)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.relu(self.bn1(self.fc1(self.inorm(x))))
        return self.fc2(self.drop(h)).squeeze(-1)


net = Screen()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(1, 41):
    net.train()
    order = torch.randperm(len(Xa))
    losses, hits = [], 0
    for idx in order.split(35):
        out = net(Xa[idx])
        loss = bce(out, ya[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        hits += ((out > 0) == (ya[idx] > 0.5)).sum().item()
    if epoch % 5 == 0:
        net.eval()
        with torch.no_grad():
            o = net(Xb)
            vl = bce(o, yb).item()
            va = ((o > 0) == (yb > 0.5)).float().mean().item()
        print(f"epoch {epoch}: train {sum(losses)/len(losses):.4f} / {hits/len(Xa):.3f}   held-out {vl:.4f} / {va:.3f}")
