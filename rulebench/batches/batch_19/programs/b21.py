import torch
import torch.nn.functional as F
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

torch.manual_seed(12345)


def random_graph(label):
    """Label 0: tree, label 1: tree with triangles, label 2: a ring."""
    n = int(torch.randint(8, 16, (1,)))
    if label == 2:
        pairs = [(i, (i + 1) % n) for i in range(n)]
    else:
        pairs = [(i, int(torch.randint(0, i, (1,)))) for i in range(1, n)]
        if label == 1:
            for _ in range(3):
                a = int(torch.randint(1, n, (1,)))
                parent = pairs[a - 1][1]
                siblings = [p for p in pairs if p[1] == parent and p[0] != a]
                other = siblings[0][0] if siblings else pairs[max(parent - 1, 0)][1]
                if other != a:
                    pairs.append((a, other))
    e = torch.tensor(pairs).t()
    edge_index = torch.cat([e, e.flip(0)], dim=1)
    return Data(x=torch.ones(n, 1), edge_index=edge_index, y=torch.tensor([label]))


dataset = [random_graph(i % 3) for i in range(600)]
order = torch.randperm(len(dataset)).tolist()
train_loader = DataLoader([dataset[i] for i in order[:450]], batch_size=32, shuffle=True)
test_loader = DataLoader([dataset[i] for i in order[450:]], batch_size=150)


class GIN(torch.nn.Module):
    def __init__(self, hidden=32, num_classes=3):
        super().__init__()
        self.conv1 = GINConv(self.mlp(1, hidden))
        self.conv2 = GINConv(self.mlp(hidden, hidden))
        self.conv3 = GINConv(self.mlp(hidden, hidden))
        self.lin = Linear(hidden, num_classes)

    def mlp(self, i, o):
        return Sequential(Linear(i, o), BatchNorm1d(o), ReLU(), Linear(o, o), ReLU())

    def forward(self, x, edge_index, batch):
        x = self.conv1(x, edge_index)
        x = self.conv2(x, edge_index)
        x = self.conv3(x, edge_index)
        return self.lin(F.dropout(global_add_pool(x, batch), 0.2, self.training))


model = GIN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def train():
    model.train()
    total = 0
    for data in train_loader:
        optimizer.zero_grad()
        out = model(data.x, data.edge_index, data.batch)
        loss = F.cross_entropy(out, data.y)
        loss.backward()
        optimizer.step()
        total += loss.item() * data.num_graphs
    return total / len(train_loader.dataset)


@torch.no_grad()
def test(loader):
    model.eval()
    correct = 0
    for data in loader:
        pred = model(data.x, data.edge_index, data.batch).argmax(dim=1)
        correct += int((pred == data.y).sum())
    return correct / len(loader.dataset)


for epoch in range(1, 21):
    loss = train()
    if epoch % 2 == 0:
        print(f"Epoch {epoch:02d}, Loss: {loss:.4f}, Train: {test(train_loader):.4f}, Test: {test(test_loader):.4f}")
