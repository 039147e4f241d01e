import torch, math
import torch.nn as nn
torch.manual_seed(1)

# three interleaved spirals, deep narrow net
def spirals(n_per, k=3, noise=0.08):
    xs, ys = [], []
    for c in range(k):
        r = torch.linspace(0.05, 1, n_per)
        t = torch.linspace(0, 3.5, n_per) + 2 * math.pi * c / k + noise * torch.randn(n_per)
        xs.append(torch.stack([r * torch.cos(t), r * torch.sin(t)], 1))
        ys.append(torch.full((n_per,), c))
    return torch.cat(xs), torch.cat(ys)

class Layer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        self.norm = nn.LayerNorm(n_out, elementwise_affine=False)
    def forward(self, x):
        return torch.tanh(self.norm(self.fc(x)))

class DeepNet(nn.Module):
    def __init__(self, w=12, depth=5, k=3):
        super().__init__()
        self.layers = [Layer(2 if i == 0 else w, w) for i in range(depth)]
        self.head = nn.Linear(w, k)
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return self.head(x)

X, Y = spirals(300)
perm = torch.randperm(len(X))
X, Y = X[perm], Y[perm]
Xt, Yt, Xv, Yv = X[:720], Y[:720], X[720:], Y[720:]
net = DeepNet()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
lossf = nn.CrossEntropyLoss()
for ep in range(60):
    idx = torch.randperm(720)
    for b in idx.split(48):
        opt.zero_grad()
        l = lossf(net(Xt[b]), Yt[b])
        l.backward()
        opt.step()
    if ep % 10 == 9:
        with torch.no_grad():
            a = (net(Xv).argmax(1) == Yv).float().mean()
            print('ep', ep + 1, 'loss', round(l.item(), 4), 'val acc', round(a.item(), 3))
