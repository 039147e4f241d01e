import random
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

random.seed(1)
np.random.seed(1)
torch.manual_seed(1)

# citation-like graph: 4 topics, papers mostly cite inside their topic
NUM_NODES, NUM_CLASSES, NUM_FEATS = 800, 4, 40
topic = np.random.randint(0, NUM_CLASSES, NUM_NODES)
prototypes = np.random.randn(NUM_CLASSES, NUM_FEATS)
feats = 0.32 * prototypes[topic] + np.random.randn(NUM_NODES, NUM_FEATS)

citations = []
for i in range(NUM_NODES):
    same = np.flatnonzero(topic == topic[i])
    for _ in range(4):
        if random.random() < 0.85:
            j = int(np.random.choice(same))
        else:
            j = random.randrange(NUM_NODES)
        if i != j:
            citations.append((i, j))

edge_index = torch.tensor(citations, dtype=torch.long).view(2, -1)
edge_index = to_undirected(edge_index, num_nodes=NUM_NODES)

perm = torch.randperm(NUM_NODES)
train_idx, val_idx, test_idx = perm[:160], perm[160:320], perm[320:]
data = Data(x=torch.tensor(feats, dtype=torch.float), edge_index=edge_index,
            y=torch.tensor(topic))
print(data)


class GCN(torch.nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv1 = GCNConv(NUM_FEATS, hidden)
        self.conv2 = GCNConv(hidden, NUM_CLASSES)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.3, training=self.training)
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.5, training=self.training)
        return self.conv2(x, edge_index)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


@torch.no_grad()
def accuracy(idx):
    model.eval()
    pred = model(data.x, data.edge_index).argmax(dim=1)
    return (pred[idx] == data.y[idx]).float().mean().item()


best_val = best_test = 0
for epoch in range(1, 121):
    model.train()
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[train_idx], data.y[train_idx])
    loss.backward()
    optimizer.step()
    val = accuracy(val_idx)
    if val > best_val:
        best_val, best_test = val, accuracy(test_idx)
    if epoch % 10 == 0:
        print(f"Epoch {epoch:03d}  loss {loss:.4f}  train {accuracy(train_idx):.3f}  val {val:.3f}")
print(f"best val {best_val:.3f}  test {best_test:.3f}")
