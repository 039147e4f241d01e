import argparse
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, default=1200)
parser.add_argument("--classes", type=int, default=6)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--lr", type=float, default=0.01)
args = parser.parse_args()

torch.manual_seed(12)
rng = np.random.default_rng(12)


def citation_like(n, c):
    """Papers with noisy word features that mostly cite papers of their own field."""
    y = rng.integers(0, c, n)
    edges = []
    for i in range(n):
        for _ in range(3):
            same = rng.random() < 0.85
            pool = np.flatnonzero(y == y[i]) if same else np.arange(n)
            j = int(rng.choice(pool))
            if j != i:
                edges += [(i, j), (j, i)]
    topic = rng.normal(0, 1, (c, 64))
    x = 0.14 * topic[y] + rng.normal(0, 1, (n, 64))
    return x.astype(np.float32), y, edges


x, y, edges = citation_like(args.nodes, args.classes)
edge_index = torch.tensor(edges, dtype=torch.long).reshape(2, -1)
data = Data(x=torch.from_numpy(x), edge_index=edge_index, y=torch.from_numpy(y))
perm = torch.randperm(args.nodes)
data.train_mask = torch.zeros(args.nodes, dtype=torch.bool)
data.val_mask = torch.zeros(args.nodes, dtype=torch.bool)
data.test_mask = torch.zeros(args.nodes, dtype=torch.bool)
data.train_mask[perm[:240]] = True
data.val_mask[perm[240:500]] = True
data.test_mask[perm[500:]] = True
data.validate()
print(data)


class GCN(torch.nn.Module):
    def __init__(self, d_in, hidden, d_out):
        super().__init__()
        self.conv1 = GCNConv(d_in, hidden)
        self.conv2 = GCNConv(hidden, d_out)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.5, training=self.training)
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, 0.5, training=self.training)
        return self.conv2(x, edge_index)


model = GCN(64, args.hidden, args.classes)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)


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
    pred = model(data.x, data.edge_index).argmax(-1)
    return [(pred[m] == data.y[m]).float().mean().item()
            for m in (data.train_mask, data.val_mask, data.test_mask)]


best_val = best_test = 0
for epoch in range(1, args.epochs + 1):
    loss = train()
    tr, va, te = test()
    if va > best_val:
        best_val, best_test = va, te
    if epoch % 20 == 0:
        print(f"Epoch {epoch:03d}  loss {loss:.4f}  train {tr:.3f}  val {va:.3f}  test {te:.3f}")
print(f"best val {best_val:.3f}, its test {best_test:.3f}")
