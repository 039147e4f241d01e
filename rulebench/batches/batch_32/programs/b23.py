import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(0); torch.set_num_threads(1)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = torch.tensor(d.target)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)


def make_encoder():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16), nn.Tanh())


class DenoisingAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = make_encoder()
        self.decoder = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Classifier(nn.Module):
    """the pretrained body with a linear layer on top"""
    def __init__(self, n_classes=10):
        super().__init__()
        self.backbone = make_encoder()
        self.head = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


# ---- stage 1, no labels
ae = DenoisingAE()
opt = torch.optim.Adam(ae.parameters(), 2e-3)
for step in range(1500):
    xb = X_tr[torch.randint(len(X_tr), (64,))]
    loss = F.mse_loss(ae(xb + 0.2 * torch.randn_like(xb)), xb)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 300 == 0:
        print("ae", step, round(loss.item(), 4))
torch.save({"state_dict": ae.state_dict(), "step": 1500}, "ae_tmp.pt")

# ---- stage 2, 60 labelled examples
clf = Classifier()
ckpt = torch.load("ae_tmp.pt")
# the decoder has no place in the classifier, so not strict
clf.load_state_dict(ckpt["state_dict"], strict=False)
for p in clf.backbone.parameters():
    p.requires_grad_(False)

idx = torch.randperm(len(X_tr))[:60]
opt = torch.optim.Adam(clf.head.parameters(), 1e-2)
for step in range(800):
    loss = F.cross_entropy(clf(X_tr[idx]), y_tr[idx])
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 200 == 0:
        print("clf", step, round(loss.item(), 4))

with torch.no_grad():
    acc = (clf(X_te).argmax(1) == y_te).float().mean().item()
print("test acc with 60 labels: %.4f" % acc)
