"""GCN on a planted-partition graph; only 5 labelled nodes per class, full batch."""
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv
from torch_geometric.utils import stochastic_blockmodel_graph

torch.manual_seed(300)
K, PER = 4, 150
N = K * PER
p = torch.full((K, K), 0.006)
p.fill_diagonal_(0.045)
edge_index = stochastic_blockmodel_graph([PER] * K, p)
y = torch.arange(N) // PER
x = F.one_hot(y, K).float() @ torch.randn(K, 32) * 0.6 + torch.randn(N, 32)
train = torch.zeros(N, dtype=torch.bool)
for k in range(K):
    train[torch.nonzero(y == k).ravel()[torch.randperm(PER)[:5]]] = True
test = ~train
print(int(train.sum()), "labelled of", N)


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = GCNConv(32, 32), GCNConv(32, K)

    def forward(self, x):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(self.c1(x, edge_index))
        return self.c2(F.dropout(x, 0.5, self.training), edge_index)


net = GCN()
opt = torch.optim.Adam([{"params": net.c1.parameters(), "weight_decay": 5e-3},
                        {"params": net.c2.parameters(), "weight_decay": 0}], lr=0.01)
for epoch in range(150):
    net.train()
    loss = F.cross_entropy(net(x)[train], y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 15 == 0:
        net.eval()
        with torch.no_grad():
            a = (net(x).argmax(1) == y)[test].float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} test acc {a:.3f}")
