# Community classification on a citation-like random graph with a 2 layer GCN
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

SEED = 11
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

num_nodes, num_classes, num_feats = 1200, 5, 40

# ---- build graph -------------------------------------------------------
labels = rng.integers(0, num_classes, num_nodes)
edges = []
p_in, p_out = 0.02, 0.001
for i in range(num_nodes):
    r = rng.random(num_nodes - i - 1)
    other = labels[i + 1:]
    prob = np.where(other == labels[i], p_in, p_out)
    for j in np.nonzero(r < prob)[0]:
        edges.append((i, i + 1 + int(j)))

# weak bag-of-words features
topics = rng.normal(0, 0.25, (num_classes, num_feats))
feats = topics[labels] + rng.normal(0, 1.0, (num_nodes, num_feats))

edge_index = torch.tensor(edges, dtype=torch.long).reshape(2, -1)
edge_index = to_undirected(edge_index, num_nodes=num_nodes)
data = Data(x=torch.tensor(feats, dtype=torch.float), edge_index=edge_index,
            y=torch.tensor(labels, dtype=torch.long))

perm = torch.randperm(num_nodes)
data.train_mask = torch.zeros(num_nodes, dtype=torch.bool)
data.val_mask = torch.zeros(num_nodes, dtype=torch.bool)
data.test_mask = torch.zeros(num_nodes, dtype=torch.bool)
data.train_mask[perm[:200]] = True
data.val_mask[perm[200:500]] = True
data.test_mask[perm[500:]] = True
print(data)


class GCN(torch.nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv1 = GCNConv(num_feats, hidden)
        self.conv2 = GCNConv(hidden, num_classes)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.3, training=self.training)
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, p=0.3, training=self.training)
        return self.conv2(x, edge_index)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def train():
    model.train()
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def test():
    model.eval()
    pred = model(data.x, data.edge_index).argmax(dim=1)
    accs = []
    for mask in (data.train_mask, data.val_mask, data.test_mask):
        accs.append((pred[mask] == data.y[mask]).float().mean().item())
    return accs


best_val, best_test = 0, 0
for epoch in range(1, 151):
    loss = train()
    tr, va, te = test()
    if va > best_val:
        best_val, best_test = va, te
    if epoch % 20 == 0:
        print(f"Epoch {epoch:03d} loss {loss:.4f} train {tr:.3f} val {va:.3f} test {te:.3f}")

print(f"best val {best_val:.3f}, test at best val {best_test:.3f}")
