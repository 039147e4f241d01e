import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
y = y.astype("float32")


def logistic():
    m = nn.Linear(30, 1)
    nn.init.zeros_(m.weight)
    nn.init.zeros_(m.bias)
    return m


def mlp():
    return nn.Sequential(nn.Linear(30, 16), nn.Tanh(), nn.Linear(16, 1))


def fit(make, Xt, yt, seed):
    torch.manual_seed(seed)
    m = make()
    opt = torch.optim.Adam(m.parameters(), lr=0.02, weight_decay=1e-3)
    Xt, yt = torch.tensor(Xt, dtype=torch.float32), torch.tensor(yt)[:, None]
    for _ in range(60):                     # full batch is fine for 455 rows
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(m(Xt), yt)
        loss.backward()
        opt.step()
    return m, loss.item()


scores = {"logistic": [], "mlp": []}
for fold, (a, b) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
    sc = StandardScaler().fit(X[a])
    for name, make in (("logistic", logistic), ("mlp", mlp)):
        m, last = fit(make, sc.transform(X[a]), y[a], seed=fold)
        with torch.no_grad():
            p = m(torch.tensor(sc.transform(X[b]), dtype=torch.float32))[:, 0] > 0
        acc = float((p.numpy() == (y[b] > 0.5)).mean())
        scores[name].append(acc)
        print(f"fold {fold} {name:9s} train loss {last:.4f} accuracy {acc:.3f}")
print({k: (round(float(np.mean(v)), 4), round(float(np.std(v)), 4)) for k, v in scores.items()})
