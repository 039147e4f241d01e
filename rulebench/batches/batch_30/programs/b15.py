"""Pretrain an encoder on digits, then linear-probe it on few labels."""
import io
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(1)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
Y = torch.tensor(d.target)
perm = torch.randperm(len(X), generator=torch.Generator().manual_seed(1))
X, Y = X[perm], Y[perm]
X_pre, Y_pre = X[:1000], Y[:1000]
X_few, Y_few = X[1000:1200], Y[1000:1200]
X_test, Y_test = X[1200:], Y[1200:]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 12)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.relu(self.fc(x.flatten(1)))


class Wrapped(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(12, n_out)

    def forward(self, x):
        return self.head(self.encoder(x))


# ------------------------------------------------------------ stage 1
pre = Wrapped(10)
opt = torch.optim.Adam(pre.parameters(), lr=2e-3)
for step in range(800):
    i = torch.randint(0, len(X_pre), (64,))
    loss = F.cross_entropy(pre(X_pre[i]), Y_pre[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0:
        print("[stage 1] step", step, "loss", round(loss.item(), 4))
ckpt = io.BytesIO()
torch.save({"model": pre.state_dict(), "step": step}, ckpt)
ckpt.seek(0)

# ------------------------------------------------------------ stage 2
enc = Encoder()
state = torch.load(ckpt)["model"]
# the checkpoint also contains the old head, so don't be strict
enc.load_state_dict(state, strict=False)
for p in enc.parameters():
    p.requires_grad_(False)
enc.eval()
head = nn.Linear(12, 10)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for step in range(1200):
    i = torch.randint(0, len(X_few), (32,))
    with torch.no_grad():
        z = enc(X_few[i])
    loss = F.cross_entropy(head(z), Y_few[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 300 == 0:
        print("[stage 2] step", step, "loss", round(loss.item(), 4))
with torch.no_grad():
    acc = (head(enc(X_test)).argmax(1) == Y_test).float().mean()
print("probe accuracy on test digits: %.4f" % acc.item())
