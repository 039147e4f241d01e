import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

# metric learning on the 8x8 digits with a triplet loss, then a 1-NN lookup
torch.manual_seed(0)
np.random.seed(0)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype(np.float32)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
by_class = {c: np.where(ytr == c)[0] for c in range(10)}
Xtr_t, Xte_t = torch.from_numpy(Xtr), torch.from_numpy(Xte)


class Embedder(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.4),
            nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.4),
        )
        self.proj = nn.Linear(64, d)

    def forward(self, x):
        return nn.functional.normalize(self.proj(self.body(x)), dim=-1)


def sample_triplets(n):
    a, p, q = [], [], []
    for _ in range(n):
        c, k = np.random.choice(10, 2, replace=False)
        i, j = np.random.choice(by_class[c], 2, replace=False)
        a.append(i); p.append(j); q.append(np.random.choice(by_class[k]))
    return a, p, q


net = Embedder()
loss_fn = nn.TripletMarginLoss(margin=0.5)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def lookup_accuracy():
    with torch.no_grad():
        gallery = net(Xtr_t).numpy()
        queries = net(Xte_t).numpy()
    knn = KNeighborsClassifier(1).fit(gallery, ytr)
    return knn.score(queries, yte)


net.train()
for it in range(1, 1501):
    a, p, q = sample_triplets(64)
    loss = loss_fn(net(Xtr_t[a]), net(Xtr_t[p]), net(Xtr_t[q]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 250 == 0:
        print(f"it {it}: triplet loss {loss.item():.4f}, 1-NN accuracy {lookup_accuracy():.4f}")

print("done. 1-NN test accuracy:", round(lookup_accuracy(), 4))
