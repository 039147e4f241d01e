"""Pretrain an encoder (autoencoding, wrapped for multi-gpu), then train a linear classifier on top."""
import io
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(6)
torch.set_num_threads(1)

d = load_digits()
imgs = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(d.target)
perm = torch.randperm(len(imgs))
unl, lab, test = perm[:1100], perm[1100:1300], perm[1300:]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1, stride=2)
        self.fc = nn.Linear(16 * 16, 12)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def pretrain(epochs=60):
    net = nn.DataParallel(AutoEncoder())
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for ep in range(epochs):
        total = 0.0
        for idx in unl[torch.randperm(len(unl))].split(64):
            x = imgs[idx]
            loss = F.mse_loss(net(x), x.flatten(1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if ep % 15 == 0 or ep == epochs - 1:
            print(f"pretrain epoch {ep:3d} mse {total / len(unl):.4f}")
    buf = io.BytesIO()
    torch.save({"model": net.state_dict(), "epochs": epochs}, buf)
    buf.seek(0)
    return buf


class Classifier(nn.Module):
    def __init__(self, ckpt):
        super().__init__()
        self.encoder = Encoder()
        sd = torch.load(ckpt)["model"]
        sd = {k.replace("encoder.", ""): v for k, v in sd.items() if "encoder" in k}
        self.encoder.load_state_dict(sd, strict=False)
        for p in self.encoder.parameters():
            p.requires_grad = False
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        return self.head(self.encoder(x))


clf = Classifier(pretrain())
opt = torch.optim.Adam(clf.head.parameters(), lr=1e-2)
for ep in range(150):
    for idx in lab[torch.randperm(len(lab))].split(32):
        loss = F.cross_entropy(clf(imgs[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if ep % 30 == 0:
        with torch.no_grad():
            acc = (clf(imgs[lab]).argmax(1) == labels[lab]).float().mean()
        print(f"linear probe epoch {ep:3d} loss {loss.item():.4f} train acc {acc:.3f}")

with torch.no_grad():
    acc = (clf(imgs[test]).argmax(1) == labels[test]).float().mean().item()
print(f"probe test accuracy {acc:.4f}")
