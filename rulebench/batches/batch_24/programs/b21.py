"""Link prediction on a friendship graph: GraphSAGE encoder, dot-product decoder, fresh negatives every step."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import negative_sampling, to_undirected

torch.manual_seed(12)
rng = np.random.default_rng(12)

# people with a position in a latent plane, friends if near
n = 600
pos = rng.uniform(0, 1, size=(n, 2))
dist = np.linalg.norm(pos[:, None] - pos[None], axis=-1)
prob = np.exp(-(dist / 0.09) ** 2) * 0.5
upper = np.triu(rng.random((n, n)) < prob, k=1)
edges = np.argwhere(upper)
rng.shuffle(edges)
n_test = len(edges) // 10
test_pos = torch.tensor(edges[:n_test].T)
train_pos = torch.tensor(edges[n_test:].T)
message_edges = to_undirected(train_pos, num_nodes=n)
x = torch.tensor(np.hstack([pos + 0.15 * rng.normal(size=pos.shape), rng.normal(size=(n, 6))]), dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
test_neg = negative_sampling(to_undirected(torch.tensor(edges.T), num_nodes=n), num_nodes=n, num_neg_samples=n_test)
print("edges", len(edges), "test", n_test)


class Encoder(nn.Module):
    def __init__(self, d_in, hidden=32, out=16):
        super().__init__()
        self.c1 = SAGEConv(d_in, hidden)
        self.c2 = SAGEConv(hidden, out)

    def forward(self, x, edge_index):
        h = F.dropout(F.relu(self.c1(x, edge_index)), 0.1, self.training)
        return self.c2(h, edge_index)


class LinkModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(x.size(1))
        self.bias = nn.Parameter(torch.zeros(1))

    def decode(self, z, pairs):
        return (z[pairs[0]] * z[pairs[1]]).sum(-1) + self.bias


model = LinkModel()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)


@torch.no_grad()
def auc():
    model.eval()
    z = model.encoder(x, message_edges)
    s = torch.cat([model.decode(z, test_pos), model.decode(z, test_neg)]).numpy()
    return roc_auc_score(np.r_[np.ones(n_test), np.zeros(test_neg.size(1))], s)


print(f"untrained auc {auc():.4f}")
for epoch in range(1, 241):
    model.train()
    # hold out a random fifth of the edges from message passing and score those
    perm = torch.randperm(train_pos.size(1))
    k = len(perm) // 5
    score_edges, mp_edges = train_pos[:, perm[:k]], train_pos[:, perm[k:]]
    z = model.encoder(x, to_undirected(mp_edges, num_nodes=n))
    neg = negative_sampling(message_edges, num_nodes=n, num_neg_samples=k)
    logits = torch.cat([model.decode(z, score_edges), model.decode(z, neg)])
    target = torch.cat([torch.ones(k), torch.zeros(neg.size(1))])
    loss = F.binary_cross_entropy_with_logits(logits, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 30 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} test auc {auc():.4f}")
