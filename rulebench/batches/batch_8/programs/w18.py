import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


def images(n):
    """brightness class: 0 dark, 1 medium, 2 bright, over a texture"""
    y = torch.randint(0, 3, (n,))
    x = 0.3 + 0.2 * y.view(-1, 1, 1, 1) + 0.15 * torch.randn(n, 1, 16, 16)
    return x, y


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.b2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.relu(self.b2(self.c2(x)))
        return self.fc(x.mean((2, 3)))


xtr, ytr = images(1500)
xte, yte = images(300)
model = CNN()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    perm = torch.randperm(len(xtr))
    tot = correct = 0
    for i in range(0, len(xtr), 50):
        b = perm[i:i + 50]
        opt.zero_grad()
        out = model(xtr[b])
        loss = F.cross_entropy(out, ytr[b])
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
        correct += (out.argmax(1) == ytr[b]).sum().item()
    hits = 0
    with torch.no_grad():
        for x, y in zip(xte, yte):
            hits += int(model(x[None]).argmax(1).item() == y.item())
    print(f"epoch {epoch}: loss {tot / len(xtr):.3f} train acc {correct / len(xtr):.3f} test acc {hits / len(xte):.3f}")
