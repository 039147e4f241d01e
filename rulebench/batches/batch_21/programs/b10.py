"""Graph classification: how many rings does a random molecule-like graph contain?"""
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool

random.seed(0)
torch.manual_seed(0)


def make_graph():
    """A path with 0, 1 or 2 short cycles hanging on it, node features are noisy types."""
    label = random.randint(0, 2)
    n_path = random.randint(6, 10) + (2 - label) * 4
    edges = [(i, i + 1) for i in range(n_path - 1)]
    n = n_path
    for _ in range(label):
        anchor = random.randrange(n_path)
        ring = [anchor] + list(range(n, n + 4))
        n += 4
        edges += [(ring[k], ring[(k + 1) % 5]) for k in range(5)]
    edge_index = torch.tensor(edges + [(b, a) for a, b in edges]).t()
    x = F.one_hot(torch.randint(0, 3, (n,)), 3).float()
    return x, edge_index, label


graphs = [make_graph() for _ in range(1500)]
train_set, test_set = graphs[:1200], graphs[1200:]


def collate(items):
    xs, edges, ys, batch = [], [], [], []
    for i, (x, edge_index, y) in enumerate(items):
        xs.append(x)
        edges.append(edge_index)
        ys.append(y)
        batch.append(torch.full((x.size(0),), i, dtype=torch.long))
    return torch.cat(xs), torch.cat(edges, dim=1), torch.cat(batch), torch.tensor(ys)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(), nn.Linear(o, o))


class GIN(nn.Module):
    def __init__(self, in_dim=3, hidden=32, classes=3):
        super().__init__()
        self.conv1 = GINConv(mlp(in_dim, hidden))
        self.conv2 = GINConv(mlp(hidden, hidden))
        self.conv3 = GINConv(mlp(hidden, hidden))
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x, edge_index, batch):
        x = F.relu(self.conv1(x, edge_index))
        x = F.relu(self.conv2(x, edge_index))
        x = F.relu(self.conv3(x, edge_index))
        return self.out(global_add_pool(x, batch) / 10.0)


model = GIN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def evaluate(dataset):
    model.eval()
    correct = 0
    with torch.no_grad():
        for i in range(0, len(dataset), 50):
            x, ei, b, y = collate(dataset[i : i + 50])
            correct += (model(x, ei, b).argmax(1) == y).sum().item()
    return correct / len(dataset)


for epoch in range(1, 16):
    model.train()
    random.shuffle(train_set)
    total = 0.0
    for i in range(0, len(train_set), 50):
        x, ei, b, y = collate(train_set[i : i + 50])
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, ei, b), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    if epoch % 3 == 0:
        print(f"epoch {epoch:02d}  loss {total / len(train_set):.4f}  test acc {evaluate(test_set):.3f}")

print("final test accuracy:", round(evaluate(test_set), 4))
