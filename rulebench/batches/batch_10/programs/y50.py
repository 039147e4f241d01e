import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_classification

torch.manual_seed(17)
X, y = make_classification(3000, 24, n_informative=12, n_classes=6, n_clusters_per_class=1,
                           class_sep=1.2, random_state=17)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)
train = DataLoader(TensorDataset(X[:2400], y[:2400]), batch_size=64, shuffle=True, drop_last=True)

model = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = StepLR(optimizer, step_size=8, gamma=0.1)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(24):
    model.train()
    losses = []
    for xb, yb in train:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        acc = (model(X[2400:]).argmax(1) == y[2400:]).float().mean().item()
    print(f"epoch {epoch + 1:2d}  loss {sum(losses) / len(losses):.4f}  val acc {acc:.4f}")
