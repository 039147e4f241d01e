"""Does a random molecule-like graph contain many triangles?"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import to_undirected


def random_graph(label, gen):
    n = int(torch.randint(12, 22, (1,), generator=gen))
    # ring backbone plus chords; class 1 gets short chords that close triangles
    src = torch.arange(n)
    edges = [torch.stack([src, (src + 1) % n])]
    m = n // 3
    a = torch.randint(0, n, (m,), generator=gen)
    jump = 2 if label == 1 else 5
    edges.append(torch.stack([a, (a + jump) % n]))
    edge_index = to_undirected(torch.cat(edges, 1), num_nodes=n)
    pos = torch.randperm(n, generator=gen)
    edge_index = pos[edge_index]
    adj = torch.zeros(n, n)
    adj[edge_index[0], edge_index[1]] = 1
    tri = ((adj @ adj) * adj).sum(1, keepdim=True) / 2
    deg = adj.sum(1, keepdim=True)
    x = torch.cat([deg, tri + 1.5 * torch.randn(n, 1, generator=gen), torch.ones(n, 1)], 1)
    return Data(x=x, edge_index=edge_index, y=torch.tensor([label]))


def build(n, seed):
    gen = torch.Generator().manual_seed(seed)
    return [random_graph(i % 2, gen) for i in range(n)]


class GIN(nn.Module):
    def __init__(self, in_dim=3, hidden=32, layers=2, classes=2):
        super().__init__()
        self.convs = nn.ModuleList()
        for i in range(layers):
            mlp = nn.Sequential(nn.Linear(in_dim if i == 0 else hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                                nn.Linear(hidden, hidden))
            self.convs.append(GINConv(mlp, train_eps=True))
        self.lin = nn.Sequential(nn.Linear(hidden * layers, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, classes))

    def forward(self, data):
        h, outs = data.x, []
        for conv in self.convs:
            h = F.relu(conv(h, data.edge_index))
            outs.append(global_add_pool(h, data.batch))
        return self.lin(torch.cat(outs, 1))


def main():
    torch.manual_seed(4)
    train_loader = DataLoader(build(800, 1), batch_size=32, shuffle=True)
    test_loader = DataLoader(build(200, 2), batch_size=100)
    model = GIN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    for epoch in range(1, 16):
        model.train()
        total = 0.0
        for data in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), data.y)
            loss.backward()
            optimizer.step()
            total += loss.item() * data.num_graphs
        scheduler.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(d).argmax(1) == d.y).sum().item() for d in test_loader)
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d} loss {total / 800:.4f} test acc {hits / 200:.3f}")


if __name__ == "__main__":
    main()
