import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

SEED = 7
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

# citation-like graph: 1200 papers, 5 topics, noisy bag of words
n, k, d = 1200, 5, 60
topic = rng.integers(0, k, n)
centers = rng.random((k, d)) < 0.25
words = np.where(centers[topic], rng.random((n, d)) < 0.22, rng.random((n, d)) < 0.10).astype(np.float32)

pairs = []
for i in range(n):
    same = np.flatnonzero(topic == topic[i])
    other = np.flatnonzero(topic != topic[i])
    for _ in range(4):
        j = rng.choice(same) if rng.random() < 0.85 else rng.choice(other)
        if i != j:
            pairs.append((i, int(j)))
            pairs.append((int(j), i))

edge_index = torch.tensor(pairs, dtype=torch.long).view(2, -1)
x = torch.from_numpy(words)
x = x / x.sum(1, keepdim=True).clamp(min=1)

perm = torch.from_numpy(rng.permutation(n))
masks = {}
for name, sl in (("train", slice(0, 300)), ("val", slice(300, 600)), ("test", slice(600, n))):
    m = torch.zeros(n, dtype=torch.bool)
    m[perm[sl]] = True
    masks[name + "_mask"] = m

data = Data(x=x, edge_index=edge_index, y=torch.from_numpy(topic), **masks)
print(data)


class GCN(torch.nn.Module):
    def __init__(self, in_dim, hidden, out_dim):
        super().__init__()
        self.conv1 = GCNConv(in_dim, hidden)
        self.conv2 = GCNConv(hidden, out_dim)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.3, training=self.training)
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, p=0.5, training=self.training)
        return self.conv2(x, edge_index)


model = GCN(d, 32, k)
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
    pred = model(data.x, data.edge_index).argmax(dim=-1)
    return [(pred[m] == data.y[m]).float().mean().item()
            for m in (data.train_mask, data.val_mask, data.test_mask)]


best_val = test_acc = 0
for epoch in range(1, 401):
    loss = train()
    tr, va, te = test()
    if va > best_val:
        best_val, test_acc = va, te
    if epoch % 40 == 0:
        print(f"Epoch: {epoch:03d}, Loss: {loss:.4f}, Train: {tr:.3f}, Val: {va:.3f}, Test: {test_acc:.3f}")
print(f"Final test accuracy {test_acc:.4f}")
