"""Homework 3: binary classification of tumors with a neural network.

We are asked to write the cross entropy by ourselves (no nn.BCELoss).
"""
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 1
torch.manual_seed(SEED)


class Net(nn.Module):
    def __init__(self, n_in):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.sigmoid(self.fc3(x)).squeeze(1)


def cross_entropy(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


def accuracy(net, X, y):
    net.eval()
    with torch.no_grad():
        acc = ((net(X) > 0.5).float() == y).float().mean().item()
    net.train()
    return acc


data = load_breast_cancer()
Xtr, Xte, ytr, yte = train_test_split(data.data, data.target, test_size=0.2,
                                      random_state=SEED, stratify=data.target)
sc = StandardScaler().fit(Xtr)
Xtr = torch.tensor(sc.transform(Xtr), dtype=torch.float32)
Xte = torch.tensor(sc.transform(Xte), dtype=torch.float32)
ytr = torch.tensor(ytr, dtype=torch.float32)
yte = torch.tensor(yte, dtype=torch.float32)

net = Net(Xtr.shape[1])
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
batch = 32

for epoch in range(60):
    order = torch.randperm(len(Xtr))
    running = 0.0
    for i in range(0, len(Xtr), batch):
        idx = order[i:i + batch]
        optimizer.zero_grad()
        loss = cross_entropy(net(Xtr[idx]), ytr[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if (epoch + 1) % 5 == 0:
        print("epoch %d  loss %.5f  train acc %.4f  test acc %.4f" % (
            epoch + 1, running / len(Xtr), accuracy(net, Xtr, ytr), accuracy(net, Xte, yte)))

print("final test accuracy: %.4f" % accuracy(net, Xte, yte))
