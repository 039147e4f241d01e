import numpy as np, torch
import torch.nn as nn

torch.manual_seed(42)
np.random.seed(42)
CLASSES = ["N", "S", "V", "F", "Q"]

def beat(c):
    """one synthetic heart beat with 120 samples"""
    t = np.linspace(0, 1, 120)
    g = lambda m, s, a: a * np.exp(-(t - m) ** 2 / (2 * s * s))
    j = np.random.randn() * .02
    s = g(.3 + j, .04, .2) + g(.5 + j, .02, 1.) + g(.72 + j, .06, .35)
    if c == 1: s = g(.2 + j, .04, .2) + g(.42 + j, .02, 1.) + g(.68 + j, .06, .35)
    if c == 2: s = g(.5 + j, .06, 1.1) - g(.7 + j, .07, .4)
    if c == 3: s = s + g(.55 + j, .03, .5)
    if c == 4: s = g(.5 + j, .025, .6) + g(.28 + j, .01, .5) + g(.72 + j, .06, .2)
    return s * np.random.uniform(.7, 1.3) + np.random.randn(120) * .12 + np.random.randn() * .3

def make(n_per_class):
    X = np.stack([beat(c) for c in range(5) for _ in range(n_per_class)])
    y = np.repeat(np.arange(5), n_per_class)
    return torch.tensor(X, dtype=torch.float32)[:, None], torch.tensor(y)

Xtr, ytr = make(500)
Xte, yte = make(160)
train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(Xtr, ytr), 64, shuffle=True)
test_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(Xte, yte), 32)

class BeatNet(nn.Module):
    def __init__(self):
        super(BeatNet, self).__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv1d(i, o, 7, padding=3), nn.BatchNorm1d(o), nn.ReLU(), nn.MaxPool1d(2))
        self.features = nn.Sequential(block(1, 16), block(16, 32), block(32, 32))
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(32 * 15, 32), nn.BatchNorm1d(32), nn.ReLU(),
                                nn.Dropout(.3), nn.Linear(32, 5))
    def forward(self, x):
        return self.fc(self.features(x))

def evaluate(model, loader):
    good = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
    return good / len(loader.dataset)

net = BeatNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(12):
    net.train()
    correct = 0; L = 0
    for x, y in train_loader:
        opt.zero_grad()
        o = net(x)
        loss = nn.functional.cross_entropy(o, y)
        loss.backward(); opt.step()
        L += loss.item(); correct += (o.argmax(1) == y).sum().item()
    print('Epoch: {} loss: {:.3f} train acc: {:.3f} test acc: {:.3f}'.format(
        epoch, L / len(train_loader), correct / len(Xtr), evaluate(net, test_loader)))

print('Test accuracy:', evaluate(net, test_loader))
