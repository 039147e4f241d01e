import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(64)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
itr, ite = train_test_split(range(len(X)), test_size=0.5, random_state=64)
train = DataLoader(TensorDataset(X[itr], y[itr]), batch_size=32, shuffle=True)
xt, yt = X[ite], y[ite]

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=5e-4)
EPOCHS, SWA_START, CYCLE = 18, 9, 3
cycle_len = CYCLE * len(train)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=cycle_len, eta_min=1e-3)
swa_model = AveragedModel(model)
crit = nn.CrossEntropyLoss(label_smoothing=0.05)


def test(m):
    m.eval()
    with torch.no_grad():
        return (m(xt).argmax(1) == yt).float().mean().item()


for epoch in range(EPOCHS):
    model.train()
    s = 0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = crit(model(xb), yb)
        loss.backward()
        optimizer.step()
        sched.step()
        s += loss.item()
    if epoch >= SWA_START - 1 and (epoch + 1) % CYCLE == 0:
        swa_model.update_parameters(model)
    print(f"epoch {epoch:2d} loss {s / len(train):.4f} acc {test(model):.4f} next lr {sched.get_last_lr()[0]:.4f}")

update_bn(train, swa_model)
print("SWA accuracy %.4f" % test(swa_model))
