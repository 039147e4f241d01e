# Semi-supervised node classification on a planted partition graph, 8 labelled nodes per community
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

torch.manual_seed(12)
n, k = 600, 4
y = torch.randint(0, k, (n,))
prob = torch.where(y[:, None] == y[None], 0.035, 0.004)
a = torch.rand(n, n).triu(1)
src, dst = torch.where((a > 0) & (a < prob.triu(1)))
edge_index = to_undirected(torch.stack([src, dst]))
x = torch.randn(n, 16) + 0.35 * torch.randn(k, 16)[y]
train_mask = torch.zeros(n, dtype=torch.bool)
for c in range(k):
    train_mask[torch.where(y == c)[0][:8]] = True
data = Data(x=x, edge_index=edge_index, y=y, train_mask=train_mask, test_mask=~train_mask)
print(data)


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = GCNConv(16, 16), GCNConv(16, k)

    def forward(self, d):
        h = F.dropout(d.x, 0.3, training=self.training)
        h = F.relu(self.c1(h, d.edge_index))
        h = F.dropout(h, 0.5, training=self.training)
        return F.log_softmax(self.c2(h, d.edge_index), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(200):
    model.train()
    optimizer.zero_grad()
    out = model(data)
    loss = F.nll_loss(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0 or epoch == 199:
        model.eval()
        with torch.no_grad():
            pred = model(data).argmax(1)
        print(f"epoch {epoch:3d} loss {loss.item():.4f} test acc {(pred == data.y)[data.test_mask].float().mean():.4f}")
