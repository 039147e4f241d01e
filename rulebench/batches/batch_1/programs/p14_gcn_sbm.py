"""Semi-supervised GCN on a stochastic block model: 5 labelled nodes per class, everything else unlabelled."""
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import stochastic_blockmodel_graph

torch.manual_seed(18)
K, per = 4, 120
p = torch.full((K, K), 0.008) + torch.eye(K) * 0.05
edge_index = stochastic_blockmodel_graph([per] * K, p)
y = torch.arange(K).repeat_interleave(per)
x = 0.35 * F.one_hot(y, 12).float() + 0.5 * torch.randn(K * per, 12)
train_mask = torch.zeros(len(y), dtype=torch.bool)
for k in range(K):
    train_mask[torch.nonzero(y == k).squeeze()[torch.randperm(per)[:5]]] = True
data = Data(x=x, edge_index=edge_index, y=y, train_mask=train_mask, test_mask=~train_mask)
print(data)


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(12, 24), GCNConv(24, K)

    def forward(self, d):
        h = F.dropout(d.x, 0.3, self.training)
        h = F.dropout(F.relu(self.conv1(h, d.edge_index)), 0.5, self.training)
        return self.conv2(h, d.edge_index)


model = GCN()
opt = torch.optim.Adam([{"params": model.conv1.parameters(), "weight_decay": 5e-3},
                        {"params": model.conv2.parameters(), "weight_decay": 0.0}], lr=0.01)
for epoch in range(301):
    model.train()
    out = model(data)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 30 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(data).argmax(1)
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {(pred == y)[data.test_mask].float().mean():.3f}")
