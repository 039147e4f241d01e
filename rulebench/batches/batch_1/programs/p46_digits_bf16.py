# bf16 autocast on CPU, channels_last, digits upsampled to 16x16
import time
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(1)
data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
X = F.interpolate(X, size=16, mode="bilinear").to(memory_format=torch.channels_last)
X = (X - X.mean()) / X.std()
Y = torch.tensor(data.target)
perm = torch.randperm(len(X))
tr, te = perm[:1300], perm[1300:]


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, 1, 1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, 1, 1), nn.GroupNorm(4, 32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(self.features(x))


net = SmallNet().to(memory_format=torch.channels_last)
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
t0 = time.time()
for epoch in range(10):
    net.train()
    for b in tr[torch.randperm(len(tr))].split(32):
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(X[b])
            loss = F.cross_entropy(logits, Y[b])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        acc = (net(X[te]).argmax(1) == Y[te]).float().mean().item()
    print(f"epoch {epoch} loss {loss.float().item():.4f} acc {acc:.3f} {time.time() - t0:.1f}s")
