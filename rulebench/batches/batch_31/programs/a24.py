import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=400)
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(16)

# stochastic block model: 4 communities, weakly informative node features
N, C, D = 1200, 4, 16
label = torch.randint(0, C, (N,))
same = label[:, None] == label[None, :]
prob = torch.where(same, torch.tensor(0.02), torch.tensor(0.003))
upper = torch.triu(torch.rand(N, N) < prob, diagonal=1)
A = (upper | upper.T).float()
feat = 0.45 * torch.randn(C, D)[label] + torch.randn(N, D)
perm = torch.randperm(N)
tr, va, te = perm[:300], perm[300:600], perm[600:]

A_hat = A + torch.eye(N)
dinv = A_hat.sum(1).rsqrt()
A_hat = dinv[:, None] * A_hat * dinv[None, :]
print("nodes", N, "edges", int(A.sum() / 2), "mean degree", A.sum(1).mean().item())


class GCN(nn.Module):
    def __init__(self, d, h, c):
        super().__init__()
        self.l1, self.l2 = nn.Linear(d, h), nn.Linear(h, c)

    def forward(self, x, a):
        x = F.dropout(x, 0.3, self.training)
        x = F.relu(a @ self.l1(x))
        x = F.dropout(x, 0.5, self.training)
        return a @ self.l2(x)


net = GCN(D, args.hidden, C)
optim = torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=5e-4)
best, best_state = 0, None
for epoch in range(1, args.epochs + 1):
    net.train()
    optim.zero_grad()
    loss = F.cross_entropy(net(feat, A_hat)[tr], label[tr])
    loss.backward()
    optim.step()
    net.eval()
    with torch.no_grad():
        pred = net(feat, A_hat).argmax(1)
    acc = (pred[va] == label[va]).float().mean().item()
    if acc > best:
        best, best_state = acc, {k: v.clone() for k, v in net.state_dict().items()}
    if epoch % 50 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.4f} val {acc:.4f}")

net.load_state_dict(best_state)
net.eval()
with torch.no_grad():
    pred = net(feat, A_hat).argmax(1)
print("best val %.4f, test accuracy %.4f" % (best, (pred[te] == label[te]).float().mean().item()))
