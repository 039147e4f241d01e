import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
# 20 classes of noisy 32-dim prototypes
protos = torch.randn(20, 32)
def sample(n):
    y = torch.randint(0, 20, (n,))
    return protos[y] + 1.0 * torch.randn(n, 32), y
Xtr, ytr = sample(2000)
Xte, yte = sample(500)

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(32, 64)
        self.l2 = nn.Linear(64, 20)

    def forward(self, x):
        x = F.relu(self.l1(x))
        return F.softmax(self.l2(x), dim=1)

model = Classifier()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    idx = torch.randperm(len(Xtr))
    total = 0
    for b in idx.split(50):
        out = model(Xtr[b])
        loss = loss_fn(out, ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    acc = (model(Xte).argmax(1) == yte).float().mean()
    print("epoch %d  loss %.4f  test acc %.3f" % (epoch, total / len(Xtr), acc))
