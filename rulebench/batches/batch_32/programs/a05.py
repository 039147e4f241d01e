"""
Transfer learning on sklearn digits: learn the even digits first, then reuse
the network for the odd digits with few examples per class.
"""
import torch, torch.nn as nn, numpy as np
from sklearn.datasets import load_digits

SEED = 5
torch.manual_seed(SEED)
rng = np.random.RandomState(SEED)

digits = load_digits()
imgs = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
lab = torch.tensor(digits.target)


class SmallCNN(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(128, n_out)

    def forward(self, x):
        return self.fc(self.features(x))


def run(model, opt, X, Y, epochs, bs=32, tag=""):
    crit = nn.CrossEntropyLoss()
    for ep in range(epochs):
        order = torch.randperm(len(X))
        tot = 0.0
        for i in range(0, len(X), bs):
            j = order[i:i + bs]
            opt.zero_grad()
            loss = crit(model(X[j]), Y[j])
            loss.backward()
            opt.step()
            tot += loss.item() * len(j)
        if ep % 10 == 0 or ep == epochs - 1:
            print(f"{tag} epoch {ep:3d}  loss {tot / len(X):.4f}")


# ---- source task: 0 2 4 6 8
src = lab % 2 == 0
model = SmallCNN(5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
run(model, optimizer, imgs[src], lab[src] // 2, 30, tag="source")

# ---- target task: 1 3 5 7 9, keep the features, new classifier
tgt = torch.where(lab % 2 == 1)[0].numpy()
rng.shuffle(tgt)
train_idx, test_idx = tgt[:250], tgt[250:]
for p in model.features.parameters():
    p.requires_grad = False
for p in model.features[3].parameters():   # last conv stays trainable
    p.requires_grad = True
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
model.fc = nn.Linear(128, 5)
run(model, optimizer, imgs[train_idx], lab[train_idx] // 2, 200, tag="target")

model.eval()
with torch.no_grad():
    acc = (model(imgs[test_idx]).argmax(1) == lab[test_idx] // 2).float().mean().item()
print("odd digits, test accuracy %.3f" % acc)
