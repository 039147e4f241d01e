import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

# digits CNN, small memory so I accumulate 4 micro batches
torch.manual_seed(0)
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(d.target)
perm = torch.randperm(len(y))
x, y = x[perm], y[perm]
xtr, ytr, xva, yva = x[:1400], y[:1400], x[1400:], y[1400:]
ACC = 4

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.gn = nn.GroupNorm(4, 32)
        self.fc = nn.Linear(32 * 4, 10)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.gn(self.c2(x))), 2)
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
sch = torch.optim.lr_scheduler.StepLR(opt, 8, 0.2)
for epoch in range(16):
    net.train()
    chunks = torch.randperm(len(xtr)).split(16)
    tot = 0
    opt.zero_grad()
    for i, b in enumerate(chunks):
        loss = F.nll_loss(net(xtr[b]), ytr[b])
        (loss / ACC).backward()
        tot += loss.item() * len(b)
        if (i + 1) % ACC == 0 or i + 1 == len(chunks):
            opt.step()
            opt.zero_grad()
    sch.step()
    net.eval()
    with torch.no_grad():
        out = net(xva)
    print(f"{epoch} train {tot/len(xtr):.4f} val {F.nll_loss(out, yva).item():.4f} acc {(out.argmax(1)==yva).float().mean():.4f}")
