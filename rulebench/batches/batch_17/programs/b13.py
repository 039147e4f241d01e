import torch, torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# LBFGS on a small tabular set, full batch, target standardised with the training statistics
torch.manual_seed(0)
X, y = load_diabetes(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=1)
sx = StandardScaler().fit(Xtr)
mu, sd = ytr.mean(), ytr.std()
Xtr, Xte = (torch.tensor(sx.transform(a), dtype=torch.float64) for a in (Xtr, Xte))
ytr_s = torch.tensor((ytr - mu) / sd).unsqueeze(1)
yte = torch.tensor(yte).unsqueeze(1)

net = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1)).double()
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, history_size=10, line_search_fn="strong_wolfe")
lossf = nn.SmoothL1Loss()

def closure():
    opt.zero_grad()
    l = lossf(net(Xtr), ytr_s) + 5e-3 * sum((p ** 2).sum() for n, p in net.named_parameters() if n.endswith("weight"))
    l.backward()
    return l

base = (yte - mu).pow(2).mean().sqrt().item()
for epoch in range(80):
    net.train()
    loss = opt.step(closure)
    if epoch % 10 == 9:
        net.eval()
        with torch.no_grad():
            rmse = (net(Xte) * sd + mu - yte).pow(2).mean().sqrt().item()
        print(f"iter {epoch+1} objective {loss.item():.4f} test rmse {rmse:.2f} (mean predictor {base:.2f})")
