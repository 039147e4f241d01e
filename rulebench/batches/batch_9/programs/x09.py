import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(208)
protos = torch.randn(6, 20) * 0.8
y = torch.randint(0, 6, (1800,))
X = protos[y] + torch.randn(1800, 20)
noisy = y.clone()
flip = torch.rand(1800) < 0.15
noisy[flip] = torch.randint(0, 6, (int(flip.sum()),))     # annotators disagree
loader = DataLoader(TensorDataset(X[:1500], noisy[:1500]), batch_size=50, shuffle=True)
net = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
crit = nn.CrossEntropyLoss(label_smoothing=0.1)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
swa = AveragedModel(net)
swa_lr = SWALR(opt, swa_lr=0.02, anneal_epochs=2)
for epoch in range(20):
    net.train()
    tot = 0
    for xb, yb in loader:
        opt.zero_grad()
        loss = crit(net(xb), yb)
        loss.backward()
        opt.step()
        tot += loss.item()
    if epoch >= 10:
        swa.update_parameters(net)
        swa_lr.step()
    print(f"epoch {epoch} loss {tot / len(loader):.3f}")
update_bn(loader, swa)
net.eval(); swa.eval()
with torch.no_grad():
    for name, m in (("last", net), ("swa", swa)):
        print(name, "clean test accuracy", (m(X[1500:]).argmax(1) == y[1500:]).float().mean().item())
