"""Node classification with a two-layer GCN (Kipf & Welling) on a stochastic block model."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)

N, C, FEAT = 1200, 4, 24
labels = torch.randint(0, C, (N,))
same = labels[:, None] == labels[None, :]
prob = torch.where(same, 0.02, 0.004)
A = (torch.rand(N, N) < prob).float().triu(1)
A = A + A.T
centres = torch.randn(C, FEAT) * 0.35
X = centres[labels] + torch.randn(N, FEAT)

A_hat = A + torch.eye(N)
dinv = A_hat.sum(1).rsqrt()
A_norm = (dinv[:, None] * A_hat * dinv[None, :]).to_sparse_csr()

perm = torch.randperm(N)
train_idx, val_idx, test_idx = perm[:120], perm[120:360], perm[360:]


class GCN(nn.Module):
    def __init__(self, fin, hid, fout):
        super().__init__()
        self.w1 = nn.Linear(fin, hid)
        self.w2 = nn.Linear(hid, fout)

    def forward(self, x):
        x = F.dropout(x, 0.3, self.training)
        x = F.relu(A_norm @ self.w1(x))
        x = F.dropout(x, 0.5, self.training)
        return A_norm @ self.w2(x)


model = GCN(FEAT, 32, C)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val, best_test = 0.0, 0.0
for epoch in range(1, 501):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(X)[train_idx], labels[train_idx])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(X).argmax(1)
    val = (pred[val_idx] == labels[val_idx]).float().mean().item()
    test = (pred[test_idx] == labels[test_idx]).float().mean().item()
    if val > best_val:
        best_val, best_test = val, test
    if epoch % 50 == 0:
        print(f"Epoch {epoch:03d} loss {loss.item():.4f} val {val:.4f}")

print(f"Test accuracy at the best validation epoch: {best_test:.4f}")
