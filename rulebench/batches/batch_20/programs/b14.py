"""Graph classification: does the graph contain a ring, a star, or a grid motif?"""
import random
import networkx as nx
import torch
import torch.nn.functional as F
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import degree, to_undirected

random.seed(0)
torch.manual_seed(0)


def random_graph(label):
    n = random.randint(10, 16)
    base = nx.barabasi_albert_graph(n, 1, seed=random.randint(0, 10 ** 6))
    motif = [nx.cycle_graph(6), nx.star_graph(5), nx.grid_2d_graph(2, 3)][label]
    motif = nx.convert_node_labels_to_integers(motif)
    g = nx.disjoint_union(base, motif)
    g.add_edge(random.randrange(n), n)
    ei = to_undirected(torch.tensor(list(g.edges())).t().contiguous())
    deg = degree(ei[0], g.number_of_nodes()).clamp(max=9).long()
    return Data(x=F.one_hot(deg, 10).float(), edge_index=ei, y=torch.tensor([label]))


dataset = [random_graph(i % 3) for i in range(600)]
random.shuffle(dataset)
train_loader = DataLoader(dataset[:450], batch_size=32, shuffle=True)
test_loader = DataLoader(dataset[450:], batch_size=100)


class GIN(torch.nn.Module):
    def __init__(self, d_in, hidden, classes, layers=3):
        super().__init__()
        self.convs = torch.nn.ModuleList()
        for i in range(layers):
            mlp = Sequential(Linear(d_in if i == 0 else hidden, hidden), BatchNorm1d(hidden), ReLU(),
                             Linear(hidden, hidden), ReLU())
            self.convs.append(GINConv(mlp, train_eps=True))
        self.lin1 = Linear(hidden * layers, hidden)
        self.lin2 = Linear(hidden, classes)

    def forward(self, data):
        x, outs = data.x, []
        for conv in self.convs:
            x = conv(x, data.edge_index)
            outs.append(global_add_pool(x, data.batch))
        x = F.relu(self.lin1(torch.cat(outs, 1)))
        x = F.dropout(x, 0.3, training=self.training)
        return self.lin2(x)


def test(loader):
    model.eval()
    hit = 0
    with torch.no_grad():
        for data in loader:
            hit += (model(data).argmax(1) == data.y).sum().item()
    return hit / len(loader.dataset)


model = GIN(10, 32, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 19):
    model.train()
    total = 0
    for data in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), data.y)
        loss.backward()
        optimizer.step()
        total += loss.item() * data.num_graphs
    if epoch % 3 == 0:
        print(f"epoch {epoch:02d} loss {total / 450:.4f} train {test(train_loader):.3f} "
              f"test {test(test_loader):.3f}")
