"""Gene expression classifier: keep the most informative genes, train a small net, 5-fold cross-validation."""
import numpy as np
import torch
from torch import nn
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler


def make_cohort(n, genes, informative, seed):
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    X = rng.standard_normal((n, genes))
    X[:, :informative] += 0.25 * (2 * y[:, None] - 1)
    cols = np.random.default_rng(123).permutation(genes)
    return X[:, cols].astype(np.float32), y


def train_net(X, y, epochs=40):
    net = nn.Sequential(nn.Linear(X.shape[1], 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    loss_fn = nn.BCEWithLogitsLoss()
    X = torch.tensor(X)
    y = torch.tensor(y, dtype=torch.float32)
    for _ in range(epochs):
        net.train()
        perm = torch.randperm(len(X))
        for i in range(0, len(X), 16):
            j = perm[i:i + 16]
            opt.zero_grad()
            loss = loss_fn(net(X[j]).squeeze(1), y[j])
            loss.backward()
            opt.step()
    return net.eval(), loss.item()


@torch.no_grad()
def score(net, X, y):
    return ((net(torch.tensor(X)).squeeze(1) > 0).numpy() == y).mean()


def main():
    torch.manual_seed(0)
    X, y = make_cohort(120, 3000, 5, 0)
    X_new, y_new = make_cohort(400, 3000, 5, 77)

    selector = SelectKBest(f_classif, k=40).fit(X, y)
    accs, new = [], []
    for fold, (tr, va) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
        Xtr, Xva = selector.transform(X[tr]), selector.transform(X[va])
        sc = StandardScaler().fit(Xtr)
        net, last = train_net(sc.transform(Xtr), y[tr])
        accs.append(score(net, sc.transform(Xva), y[va]))
        new.append(score(net, sc.transform(selector.transform(X_new)), y_new))
        print(f"fold {fold} train loss {last:.4f} val acc {accs[-1]:.3f}")
    print(f"cross-validated accuracy {np.mean(accs):.3f} +- {np.std(accs):.3f}")
    print(f"second cohort accuracy {np.mean(new):.3f}")


if __name__ == "__main__":
    main()
