import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import to_undirected, degree

torch.manual_seed(3)


def random_tree_plus(n, extra):
    edges = [(i, int(torch.randint(0, i, (1,)))) for i in range(1, n)]
    while extra > 0:
        a, b = torch.randint(0, n, (2,)).tolist()
        if a != b and (a, b) not in edges and (b, a) not in edges:
            edges.append((a, b))
            extra -= 1
    return edges


def make_graph():
    """Label = number of independent cycles, capped at 3."""
    n = int(torch.randint(8, 18, (1,)))
    k = int(torch.randint(0, 4, (1,)))
    ei = to_undirected(torch.tensor(random_tree_plus(n, k)).t(), num_nodes=n)
    deg = degree(ei[0], n)
    return Data(x=torch.stack([torch.ones(n), deg / 4], 1), edge_index=ei, y=torch.tensor([k]), num_nodes=n)


dataset = [make_graph() for _ in range(1000)]
train_loader = DataLoader(dataset[:800], batch_size=16, shuffle=True)
test_loader = DataLoader(dataset[800:], batch_size=100)


class GIN(nn.Module):
    def __init__(self, in_channels, hidden, out_channels, num_layers=3):
        super().__init__()
        self.convs = nn.ModuleList()
        for _ in range(num_layers):
            self.convs.append(GINConv(nn.Sequential(
                nn.Linear(in_channels, hidden), nn.ReLU(), nn.Linear(hidden, hidden))))
            in_channels = hidden
        self.lin1 = nn.Linear(hidden * num_layers, hidden)
        self.lin2 = nn.Linear(hidden, out_channels)

    def forward(self, x, edge_index, batch):
        pooled = []
        for conv in self.convs:
            x = conv(x, edge_index).relu()
            pooled.append(global_add_pool(x, batch) / 10)
        return self.lin2(self.lin1(torch.cat(pooled, 1)).relu())


model = GIN(2, 32, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(1, 21):
    model.train()
    total = 0
    for data in train_loader:
        optimizer.zero_grad()
        out = model(data.x, data.edge_index, data.batch)
        loss = F.cross_entropy(out, data.y)
        loss.backward()
        optimizer.step()
        total += loss.item() * data.num_graphs
    model.eval()
    correct = 0
    with torch.no_grad():
        for data in test_loader:
            correct += (model(data.x, data.edge_index, data.batch).argmax(1) == data.y).sum().item()
    if epoch % 2 == 0:
        print(f"Epoch {epoch:02d} loss {total / 800:.4f} test acc {correct / 200:.4f}")
