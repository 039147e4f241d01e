# link prediction: GraphSAGE encoder, dot product decoder, AUC on held-out edges
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.transforms import RandomLinkSplit
from torch_geometric.utils import negative_sampling, to_undirected

SEED = 15
torch.manual_seed(SEED)
np.random.seed(SEED)


def social_graph(n=700, d=16):
    pos = np.random.randn(n, 4)
    aff = pos @ pos.T + 0.8 * np.random.gumbel(size=(n, n))
    aff = np.triu(aff, 1) + np.triu(aff, 1).T
    np.fill_diagonal(aff, -9)
    src = np.repeat(np.arange(n), 4)
    dst = np.argsort(-aff, 1)[:, :4].reshape(-1)
    x = pos @ np.random.randn(4, d) * 0.3 + np.random.randn(n, d)
    ei = to_undirected(torch.tensor(np.stack([src, dst])))
    return Data(x=torch.tensor(x, dtype=torch.float32), edge_index=ei)


class Encoder(nn.Module):
    def __init__(self, d_in, h=64, out=32):
        super().__init__()
        self.c1, self.c2 = SAGEConv(d_in, h), SAGEConv(h, out)

    def forward(self, x, ei):
        return self.c2(F.dropout(F.relu(self.c1(x, ei)), 0.3, self.training), ei)


def score(z, pairs):
    return (z[pairs[0]] * z[pairs[1]]).sum(-1)


data = social_graph()
split = RandomLinkSplit(num_val=0.1, num_test=0.2, is_undirected=True, add_negative_train_samples=False)
train, val, test = split(data)
print(data, "train edges", train.edge_label_index.shape[1], "test pairs", test.edge_label_index.shape[1])

model = Encoder(data.num_features)
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)


@torch.no_grad()
def evaluate(part):
    model.eval()
    z = model(data.x, data.edge_index)
    s = score(z, part.edge_label_index).sigmoid().numpy()
    return roc_auc_score(part.edge_label, s), average_precision_score(part.edge_label, s)


best = (0, None)
for epoch in range(1, 151):
    model.train()
    opt.zero_grad()
    z = model(train.x, train.edge_index)
    neg = negative_sampling(train.edge_index, num_nodes=data.num_nodes, num_neg_samples=train.edge_label_index.shape[1])
    pos_s, neg_s = score(z, train.edge_label_index), score(z, neg)
    loss = F.binary_cross_entropy_with_logits(torch.cat([pos_s, neg_s]),
                                              torch.cat([torch.ones_like(pos_s), torch.zeros_like(neg_s)]))
    loss.backward()
    opt.step()
    v = evaluate(val)
    if v[0] > best[0]:
        best = (v[0], evaluate(test))
    if epoch % 15 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} val AUC {v[0]:.4f} AP {v[1]:.4f}")
print("test AUC %.4f AP %.4f" % best[1])
