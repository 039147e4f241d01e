import torch
import torch.nn as nn
import torch.nn.functional as F

# Two-layer GCN (Kipf & Welling) on a stochastic block model, without torch_geometric
torch.manual_seed(0)
N, C, FDIM = 600, 4, 30
y = torch.arange(N) % C
p = torch.where(y[:, None] == y[None], 0.04, 0.006)
A = torch.triu((torch.rand(N, N) < p).float(), 1)
A = A + A.T
centers = torch.randn(C, FDIM) * 0.35
X = centers[y] + torch.randn(N, FDIM)

perm = torch.randperm(N)
idx_train, idx_val, idx_test = perm[:80], perm[80:240], perm[240:]
A_hat = A + torch.eye(N)
dinv = A_hat.sum(1).rsqrt()
A_norm = dinv[:, None] * A_hat * dinv[None]


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(FDIM, 32), GraphConv(32, C)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.5, self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
best_val, best_state = 0.0, None
for epoch in range(1, 801):
    model.train()
    optimizer.zero_grad()
    out = model(X, A_norm)
    loss = F.nll_loss(out[idx_train], y[idx_train])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(X, A_norm).argmax(1)
    val = (pred[idx_val] == y[idx_val]).float().mean().item()
    if val > best_val:
        best_val, best_state = val, {k: v.clone() for k, v in model.state_dict().items()}
    if epoch % 100 == 0:
        print(f"Epoch {epoch:03d} loss {loss.item():.4f} val {val:.4f}")

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    pred = model(X, A_norm).argmax(1)
print("test accuracy: %.4f (best val %.4f)" % ((pred[idx_test] == y[idx_test]).float().mean(), best_val))
