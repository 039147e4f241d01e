import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv
from torch_geometric.utils import stochastic_blockmodel_graph, to_undirected

torch.manual_seed(15)
sizes = [150, 150, 150, 150]
probs = torch.full((4, 4), 0.006) + torch.eye(4) * 0.05
edge_index = to_undirected(stochastic_blockmodel_graph(sizes, probs))
y = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes))
n = len(y)
x = 0.35 * F.one_hot(y, 4).float() @ torch.randn(4, 32) + torch.randn(n, 32)

train_mask = torch.zeros(n, dtype=torch.bool)
for c in range(4):
    nodes = (y == c).nonzero().view(-1)
    train_mask[nodes[torch.randperm(len(nodes))[:8]]] = True
rest = (~train_mask).nonzero().view(-1)
rest = rest[torch.randperm(len(rest))]
val_mask, test_mask = rest[:150], rest[150:]


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(32, 16)
        self.conv2 = GCNConv(16, 4)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.5, training=self.training)
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, p=0.5, training=self.training)
        return self.conv2(x, edge_index)


model = GCN()
optimizer = torch.optim.Adam([
    dict(params=model.conv1.parameters(), weight_decay=5e-3),
    dict(params=model.conv2.parameters(), weight_decay=0.0)], lr=0.01)
best_val = best_test = 0
for epoch in range(1, 201):
    model.train()
    optimizer.zero_grad()
    out = model(x, edge_index)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(x, edge_index).argmax(-1)
    va = (pred[val_mask] == y[val_mask]).float().mean().item()
    te = (pred[test_mask] == y[test_mask]).float().mean().item()
    if va > best_val:
        best_val, best_test = va, te
    if epoch % 20 == 0:
        print(f"Epoch: {epoch:03d}, Loss: {loss:.4f}, Val: {va:.4f}, Test: {te:.4f}")
print(f"best val {best_val:.4f}, test at that epoch {best_test:.4f}")
