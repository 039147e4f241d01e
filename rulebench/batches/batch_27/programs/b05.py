"""SimCLR in miniature. NT-Xent on randomly shifted / erased digits, judged by 5-NN on frozen features."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

torch.manual_seed(0)
d = load_digits()
imgs = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
labels = torch.tensor(d.target)
perm = torch.randperm(len(imgs))
imgs, labels = imgs[perm], labels[perm]
train_x, test_x, train_y, test_y = imgs[:1300], imgs[1300:], labels[:1300], labels[1300:]


def view(x):
    x = F.pad(x, (1, 1, 1, 1))
    dy, dx = torch.randint(0, 3, (2,)).tolist()
    x = x[:, :, dy:dy + 8, dx:dx + 8]
    gain = 0.7 + 0.6 * torch.rand(len(x), 1, 1, 1)
    drop = (torch.rand_like(x) > 0.15).float()
    return x * gain * drop + 0.1 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, feat=32, proj=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, feat))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(feat, proj))

    def forward(self, x):
        h = self.body(x)
        return h, self.head(h)


def nt_xent(z1, z2, tau=0.3):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    n = len(z)
    sim = z @ z.t() / tau
    sim.fill_diagonal_(float("-inf"))
    partner = torch.arange(n) ^ 1          # 0<->1, 2<->3, ...
    return F.cross_entropy(sim, partner)


model = Encoder()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 1200)
step, running = 0, 0.0
while step < 1200:
    for idx in torch.randperm(len(train_x)).split(128)[:-1]:
        x = train_x[idx]
        _, z1 = model(view(x))
        _, z2 = model(view(x))
        loss = nt_xent(z1, z2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        running += loss.item()
        step += 1
        if step % 150 == 0:
            print(f"step {step} nt-xent {running / 150:.3f}")
            running = 0.0

model.eval()
with torch.no_grad():
    f_tr = F.normalize(model(train_x)[0], dim=1).numpy()
    f_te = F.normalize(model(test_x)[0], dim=1).numpy()
knn = KNeighborsClassifier(5).fit(f_tr, train_y.numpy())
print("5-NN accuracy on frozen features: %.3f" % knn.score(f_te, test_y.numpy()))
