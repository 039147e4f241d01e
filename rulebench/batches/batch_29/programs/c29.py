import torch, numpy as np
from torch import nn
from sklearn.datasets import load_digits
# prune 90% of the weights in 4 rounds, retraining after each
SEED = 4
torch.manual_seed(SEED); np.random.seed(SEED)
d = load_digits()
p = np.random.permutation(len(d.data))
X = torch.from_numpy(d.data[p] / 16).float(); Y = torch.from_numpy(d.target[p])
xtr, ytr, xte, yte = X[:1300], Y[:1300], X[1300:], Y[1300:]
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
layers = [m for m in net if isinstance(m, nn.Linear)]
masks = [torch.ones_like(l.weight) for l in layers]
def acc():
    with torch.no_grad(): return (net(xte).argmax(1) == yte).float().mean().item()

def train(epochs, lr):
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=.9)
    for e in range(epochs):
        for b in torch.randperm(1300).split(50):
            loss = nn.functional.cross_entropy(net(xtr[b]), ytr[b])
            opt.zero_grad(); loss.backward()
            for l, m in zip(layers, masks): l.weight.grad *= m
            opt.step()
            with torch.no_grad():
                for l, m in zip(layers, masks): l.weight *= m
    return loss.item()

print("dense: loss %.4f acc %.4f" % (train(25, .05), acc()))
for keep in (.6, .35, .2, .1):
    allw = torch.cat([l.weight.detach().abs().flatten() for l in layers])
    thr = allw.kthvalue(int(len(allw) * (1 - keep))).values
    with torch.no_grad():
        for i, l in enumerate(layers):
            masks[i] = (l.weight.abs() > thr).float(); l.weight *= masks[i]
    a0 = acc()
    print("keep %.2f: right after cut %.4f" % (keep, a0), end="  ")
    print("loss %.4f retrained %.4f" % (train(12, .03), acc()))
nz = sum(int((l.weight != 0).sum()) for l in layers) / sum(l.weight.numel() for l in layers)
print("final: nonzero share %.3f test accuracy %.4f" % (nz, acc()))
