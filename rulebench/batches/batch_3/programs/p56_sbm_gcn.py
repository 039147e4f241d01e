# Node classification with PyG on a synthetic citation-like graph
import csv
import io
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

SEED = 0
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
N, C, DIM = 900, 6, 32


def fake_csv():
    """writes 'source,target' lines, like the cites file"""
    y = rng.integers(0, C, N)
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["source", "target"])
    for i in range(N):
        same = rng.choice(np.where(y == y[i])[0], 4)
        other = rng.integers(0, N, 1)
        for j in [*same, *other]:
            if j != i:
                w.writerow([i, int(j)])
    return buf.getvalue(), y


text, y = fake_csv()
rows = list(csv.DictReader(io.StringIO(text)))
edges = [[int(r["source"]), int(r["target"])] for r in rows]
edge_index = torch.tensor(edges, dtype=torch.long).reshape(2, -1)
edge_index = to_undirected(edge_index, num_nodes=N)

centers = rng.normal(size=(C, DIM))
x = 0.35 * centers[y] + rng.normal(size=(N, DIM))
data = Data(x=torch.tensor(x, dtype=torch.float32), edge_index=edge_index, y=torch.tensor(y))
perm = torch.randperm(N)
data.train_mask = torch.zeros(N, dtype=torch.bool)
data.train_mask[perm[:180]] = True
data.test_mask = torch.zeros(N, dtype=torch.bool)
data.test_mask[perm[400:]] = True
print(data)


class GCN(torch.nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv1 = GCNConv(DIM, hidden)
        self.conv2 = GCNConv(hidden, C)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.3, training=self.training)
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.3, training=self.training)
        return self.conv2(x, edge_index)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(1, 201):
    model.train()
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(data.x, data.edge_index).argmax(1)
        acc = lambda m: (pred[m] == data.y[m]).float().mean().item()
        print(f"Epoch {epoch:03d} loss {loss.item():.4f} train {acc(data.train_mask):.4f} test {acc(data.test_mask):.4f}")
