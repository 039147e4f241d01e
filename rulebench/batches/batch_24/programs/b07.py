"""Node classification on a synthetic citation-like network with a two-layer GCN."""
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

torch.manual_seed(1)
rng = np.random.default_rng(1)

n, n_classes, n_feat = 1500, 5, 40
labels = rng.integers(0, n_classes, n)
centers = rng.normal(size=(n_classes, n_feat)) * 0.28
feats = centers[labels] + rng.normal(size=(n, n_feat))

# papers cite papers, mostly of their own field
edges = []
by_class = [np.where(labels == c)[0] for c in range(n_classes)]
for i in range(n):
    for _ in range(4):
        if rng.random() < 0.85:
            j = rng.choice(by_class[labels[i]])
        else:
            j = rng.integers(n)
        if i != j:
            edges.append((i, int(j)))
            edges.append((int(j), i))
edge_array = np.array(edges)
edge_index = torch.tensor(edge_array, dtype=torch.long).reshape(2, -1).contiguous()

perm = rng.permutation(n)
masks = {k: torch.zeros(n, dtype=torch.bool) for k in ("train", "val", "test")}
masks["train"][perm[:300]] = True
masks["val"][perm[300:600]] = True
masks["test"][perm[600:]] = True

data = Data(
    x=torch.tensor(feats, dtype=torch.float32),
    edge_index=edge_index,
    y=torch.tensor(labels, dtype=torch.long),
    train_mask=masks["train"], val_mask=masks["val"], test_mask=masks["test"],
)
print(data)


class GCN(torch.nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv1 = GCNConv(n_feat, hidden)
        self.conv2 = GCNConv(hidden, n_classes)

    def forward(self, data):
        x = F.dropout(data.x, 0.3, training=self.training)
        x = F.relu(self.conv1(x, data.edge_index))
        x = F.dropout(x, 0.5, training=self.training)
        return self.conv2(x, data.edge_index)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val, test_at_best = 0.0, 0.0
for epoch in range(1, 251):
    model.train()
    optimizer.zero_grad()
    out = model(data)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(data).argmax(1)
    acc = {k: (pred[m] == data.y[m]).float().mean().item() for k, m in masks.items()}
    if acc["val"] > best_val:
        best_val, test_at_best = acc["val"], acc["test"]
    if epoch % 25 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.3f} train {acc['train']:.3f} val {acc['val']:.3f} test {acc['test']:.3f}")
print(f"test accuracy at best validation: {test_at_best:.3f}")
