"""Semi-supervised node classification on a stochastic block model with a two-layer GCN."""
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import stochastic_blockmodel_graph

torch.manual_seed(12)

num_classes = 5
per_block = 120
p_in, p_out = 0.06, 0.008

probs = torch.full((num_classes, num_classes), p_out)
probs.fill_diagonal_(p_in)
edge_index = stochastic_blockmodel_graph(torch.full((num_classes,), per_block), probs)
y = torch.arange(num_classes).repeat_interleave(per_block)
n = y.numel()
x = torch.randn(n, 32)
x[:, :num_classes] += 0.9 * F.one_hot(y, num_classes)

data = Data(x=x, edge_index=edge_index, y=y)
perm = torch.randperm(n)
data.train_mask = torch.zeros(n, dtype=torch.bool)
data.val_mask = torch.zeros(n, dtype=torch.bool)
data.test_mask = torch.zeros(n, dtype=torch.bool)
for c in range(num_classes):
    idx = perm[y[perm] == c]
    data.train_mask[idx[:15]] = True
    data.val_mask[idx[15:40]] = True
    data.test_mask[idx[40:]] = True
print(data)


class GCN(torch.nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.conv1 = GCNConv(data.num_features, hidden)
        self.conv2 = GCNConv(hidden, num_classes)

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.5, training=self.training)
        return self.conv2(x, edge_index)


model = GCN()
optimizer = torch.optim.Adam([
    {"params": model.conv1.parameters(), "weight_decay": 5e-3},
    {"params": model.conv2.parameters(), "weight_decay": 0.0},
], lr=0.01)


@torch.no_grad()
def test():
    model.eval()
    pred = model(data.x, data.edge_index).argmax(dim=1)
    return [
        (pred[m] == data.y[m]).float().mean().item() for m in (data.train_mask, data.val_mask, data.test_mask)
    ]


best_val = test_at_best = 0.0
for epoch in range(1, 501):
    model.train()
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    train_acc, val_acc, test_acc = test()
    if val_acc > best_val:
        best_val, test_at_best = val_acc, test_acc
    if epoch % 50 == 0:
        print(f"epoch {epoch:03d} loss {loss.item():.4f} train {train_acc:.3f} val {val_acc:.3f} test {test_acc:.3f}")

print(f"test accuracy at the best validation epoch: {test_at_best:.4f}")
