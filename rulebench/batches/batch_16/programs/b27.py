# softmax regression + small hidden layer with L-BFGS on wine data
import torch
from torch import nn
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
X, y = load_wine(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
sc = StandardScaler().fit(Xtr)
Xtr, Xte = torch.tensor(sc.transform(Xtr)), torch.tensor(sc.transform(Xte))
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

net = nn.Sequential(nn.Linear(13, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.LBFGS(net.parameters(), lr=0.2, max_iter=5, history_size=10)
lam = 1e-3
calls = 0


def closure():
    global calls
    calls += 1
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(Xtr), ytr)
    loss = loss + lam * sum((p ** 2).sum() for p in net.parameters() if p.dim() > 1)
    loss.backward()
    return loss


for it in range(80):
    loss = opt.step(closure)
    if it % 10 == 9:
        with torch.no_grad():
            acc = (net(Xte).argmax(1) == yte).double().mean().item()
        print(f"iter {it + 1} closure calls {calls} loss {loss.item():.5f} test acc {acc:.3f}")
