"""Two-layer GCN, semi-supervised, on a stochastic block model."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(203)
n, k = 600, 4
y = torch.arange(n) % k
same = y[:, None] == y[None]
prob = torch.where(same, torch.tensor(0.06), torch.tensor(0.008))
A = (torch.rand(n, n) < prob).float().triu(1)
A = A + A.t()
X = F.one_hot(y, k).float() @ torch.randn(k, 16) + 2.0 * torch.randn(n, 16)

A_hat = A + torch.eye(n)
d = A_hat.sum(1).pow(-0.5)
A_norm = d[:, None] * A_hat * d[None]

idx = torch.randperm(n)
train, val, test = idx[:80], idx[80:200], idx[200:]


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(16, 32)
        self.w2 = nn.Linear(32, k)

    def forward(self, x, a):
        h = F.dropout(F.relu(a @ self.w1(x)), 0.5, self.training)
        return a @ self.w2(h)


model = GCN()
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(1, 201):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(X, A_norm)[train], y[train])
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(X, A_norm).argmax(1)
        accs = [(pred[s] == y[s]).float().mean().item() for s in (train, val, test)]
        print("epoch %d loss %.4f train %.3f val %.3f test %.3f" % (epoch, loss.item(), *accs))
