# Semi-supervised node classification with a GAT (few labels, one big graph)
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv
from torch_geometric.utils import to_undirected

SEED = 12
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

n, k, d = 1200, 6, 60
y = np.sort(rng.integers(0, k, n))
centers = rng.normal(size=(k, d)) * 0.45
x = (centers[y] + rng.normal(size=(n, d))).astype("float32")
x = np.maximum(x, 0)
prob = np.where(y[:, None] == y[None, :], 0.02, 0.0025)
adj = np.triu(rng.random((n, n)) < prob, 1)
edge_index = to_undirected(torch.tensor(np.stack(np.nonzero(adj))))
x = x / np.maximum(x.sum(1, keepdims=True), 1e-6)      # row-normalised features as for Cora

train_mask = torch.zeros(n, dtype=torch.bool)
for c in range(k):
    train_mask[rng.choice(np.where(y == c)[0], 12, replace=False)] = True
rest = rng.permutation(np.where(~train_mask.numpy())[0])
val_idx, test_idx = torch.tensor(rest[:300]), torch.tensor(rest[300:])
data = Data(x=torch.tensor(x), edge_index=edge_index, y=torch.tensor(y))
print(data, "labelled nodes:", int(train_mask.sum()))


class GAT(torch.nn.Module):
    def __init__(self, hidden=8, heads=8):
        super().__init__()
        self.conv1 = GATConv(d, hidden, heads, dropout=0.6)
        self.conv2 = GATConv(hidden * heads, k, heads=1, concat=False, dropout=0.6)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.6, self.training)
        x = F.elu(self.conv1(x, edge_index))
        x = F.dropout(x, 0.6, self.training)
        return self.conv2(x, edge_index)


model = GAT()
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val = best_test = 0
for epoch in range(1, 251):
    model.train()
    opt.zero_grad()
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[train_mask], data.y[train_mask])
    loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        logits = model(data.x, data.edge_index)
        pred = logits.argmax(-1)
        val_loss = F.cross_entropy(logits[val_idx], data.y[val_idx]).item()
    va = (pred[val_idx] == data.y[val_idx]).float().mean().item()
    te = (pred[test_idx] == data.y[test_idx]).float().mean().item()
    if va > best_val:
        best_val, best_test = va, te
    if epoch % 25 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.4f} val loss {val_loss:.4f} val acc {va:.3f} test acc {te:.3f}")
print(f"test accuracy at best val: {best_test:.3f}")
