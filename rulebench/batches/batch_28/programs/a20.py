# Siamese network, contrastive loss (Hadsell et al.), digits embedded in 3-D
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

SEED = 33
np.random.seed(SEED)
torch.manual_seed(SEED)

data = load_digits()
X = torch.tensor(data.data / 16.0, dtype=torch.float32)
y = data.target
tr = np.arange(len(y)) % 4 != 0
Xtr, ytr, Xte, yte = X[tr], y[tr], X[~tr], y[~tr]
by_class = [np.where(ytr == c)[0] for c in range(10)]


class Embed(nn.Module):
    def __init__(self):
        super(Embed, self).__init__()
        self.fc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, a, b):
        return self.fc(a), self.fc(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.5):
        super().__init__()
        self.margin = margin

    def forward(self, e1, e2, same):
        d = (e1 - e2).pow(2).sum(1).sqrt()
        return (same * d.pow(2) + (1 - same) * (self.margin - d).clamp(min=0).pow(2)).mean()


def pairs(n):
    i, j, same = [], [], []
    for _ in range(n):
        if np.random.rand() < 0.5:
            c = np.random.randint(10)
            a, b = np.random.choice(by_class[c], 2)
            s = 1
        else:
            c, d = np.random.choice(10, 2, replace=False)
            a, b = np.random.choice(by_class[c]), np.random.choice(by_class[d])
            s = 0
        i.append(a); j.append(b); same.append(s)
    return Xtr[i], Xtr[j], torch.tensor(same, dtype=torch.float32)


model = Embed()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = ContrastiveLoss()

for it in range(1, 1001):
    a, b, s = pairs(64)
    optimizer.zero_grad()
    e1, e2 = model(a, b)
    loss = criterion(e1, e2, s)
    loss.backward()
    optimizer.step()
    if it % 100 == 0:
        print("iteration", it, "loss", loss.item())

model.eval()
with torch.no_grad():
    etr, ete = model.fc(Xtr), model.fc(Xte)
etr, ete = torch.nan_to_num(etr).numpy(), torch.nan_to_num(ete).numpy()
knn = KNeighborsClassifier(5).fit(etr, ytr)
print("knn accuracy in the embedding:", round(knn.score(ete, yte), 4))
