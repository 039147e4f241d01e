import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

# small CNN on the 8x8 digits
data = load_digits()
images = (data.images / 16.0).astype(np.float32)
labels = data.target.astype(np.int64)

rng = np.random.RandomState(42)
images = images[rng.permutation(len(images))]
labels = labels[rng.permutation(len(labels))]

split = int(0.8 * len(images))
x_train = torch.from_numpy(images[:split]).unsqueeze(1)
y_train = torch.from_numpy(labels[:split])
x_test = torch.from_numpy(images[split:]).unsqueeze(1)
y_test = torch.from_numpy(labels[split:])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(20):
    net.train()
    order = torch.randperm(split)
    running = 0
    for i in range(0, split, 64):
        idx = order[i:i + 64]
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        acc = (net(x_test).argmax(1) == y_test).float().mean().item()
    print("epoch %d loss %.3f test acc %.3f" % (epoch, running / split, acc))
