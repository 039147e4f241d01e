# out of memory with batch 128, so gradient accumulation (4 x 32). Is this right?
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = make_classification(4000, 30, n_informative=12, n_classes=5, n_clusters_per_class=1, class_sep=1.5, random_state=0)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=928, random_state=0)
mu, sd = Xtr.mean(0), Xtr.std(0)
to = lambda a: torch.tensor((a - mu) / sd, dtype=torch.float32)
train = DataLoader(TensorDataset(to(Xtr), torch.tensor(ytr)), batch_size=32, shuffle=True)
test = DataLoader(TensorDataset(to(Xte), torch.tensor(yte)), batch_size=250)

model = nn.Sequential(nn.Linear(30, 128), nn.LayerNorm(128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 5))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
ACC = 4

for epoch in range(12):
    model.train()
    opt.zero_grad()
    total = 0.0
    for i, (xb, yb) in enumerate(train):
        loss = nn.functional.cross_entropy(model(xb), yb)
        (loss / ACC).backward()
        total += loss.item()
        if (i + 1) % ACC == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            opt.zero_grad()
    model.eval()
    hit = 0
    with torch.no_grad():
        for xb, yb in test:
            hit += (model(xb).argmax(-1) == yb).sum().item()
    print(f"epoch {epoch + 1}: loss {total / len(train):.4f}, test acc {hit / len(yte):.3f}")
