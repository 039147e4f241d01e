import torch
from torch import nn

torch.manual_seed(305)
# two-layer GCN on a planted partition graph, 5 % of the nodes labelled
n, c = 400, 4
y = torch.arange(n) % c
P = torch.where(y[:, None] == y[None], 0.08, 0.008)
A = (torch.rand(n, n) < P).float().triu(1)
A = A + A.T
Ah = A + torch.eye(n)
dis = Ah.sum(1).pow(-0.5)
An = dis[:, None] * Ah * dis[None]
X = torch.randn(n, 16) + 0.8 * torch.randn(c, 16)[y]
perm = torch.randperm(n)
tr, va, te = perm[:40], perm[40:120], perm[120:]

class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(16, 32), nn.Linear(32, c)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        h = torch.relu(An @ self.l1(self.drop(x)))
        return An @ self.l2(self.drop(h))

net = GCN()
opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
best, keep = 0, None
for epoch in range(200):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(X)[tr], y[tr])
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(X).argmax(1) == y).float()
    if acc[va].mean() > best:
        best, keep = acc[va].mean().item(), {k: v.clone() for k, v in net.state_dict().items()}
    if epoch % 40 == 39:
        print(epoch + 1, "loss %.3f" % loss.item(), "val %.3f" % acc[va].mean())
net.load_state_dict(keep)
with torch.no_grad():
    print("test accuracy", (net(X).argmax(1) == y).float()[te].mean().item())
