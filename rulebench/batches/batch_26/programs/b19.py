import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def get_data(seed):
    d = load_digits()
    X = (d.data / 16.0).astype("float32")
    Xtr, Xte, ytr, yte = train_test_split(X, d.target, test_size=0.3, random_state=seed, stratify=d.target)
    Xtr, Xva, ytr, yva = train_test_split(Xtr, ytr, test_size=0.25, random_state=seed, stratify=ytr)
    # crowd-sourced annotation: 40 % of the training labels are unreliable
    rng = np.random.default_rng(seed)
    bad = rng.random(len(ytr)) < 0.4
    ytr = ytr.copy()
    ytr[bad] = rng.integers(0, 10, bad.sum())
    t = torch.from_numpy
    return t(Xtr), t(ytr), t(Xva), t(yva), t(Xte), t(yte)


class EarlyStopper:
    """Remembers the best weights seen so far and restores them at the end."""

    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.weights = None
        self.epoch = -1
        self.bad = 0

    def update(self, value, model, epoch):
        if value < self.best:
            self.best, self.epoch, self.bad = value, epoch, 0
            self.weights = model.state_dict()
        else:
            self.bad += 1
        return self.bad > self.patience

    def restore(self, model):
        model.load_state_dict(self.weights)


def accuracy(model, X, y):
    model.eval()
    with torch.no_grad():
        return (model(X).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    Xtr, ytr, Xva, yva, Xte, yte = get_data(11)
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    stopper = EarlyStopper(patience=100)
    for epoch in range(150):
        model.train()
        perm = torch.randperm(len(Xtr))
        tot = 0.0
        for i in range(0, len(perm), 64):
            idx = perm[i:i + 64]
            opt.zero_grad()
            loss = crit(model(Xtr[idx]), ytr[idx])
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            vl = crit(model(Xva), yva).item()
        if epoch % 10 == 0:
            print(f"epoch {epoch:3d} train {tot / len(Xtr):.4f} val {vl:.4f} val acc {accuracy(model, Xva, yva):.3f}")
        if stopper.update(vl, model, epoch):
            print("stopping at", epoch)
            break
    stopper.restore(model)
    print(f"restored epoch {stopper.epoch} (val loss {stopper.best:.4f})")
    print(f"test accuracy {accuracy(model, Xte, yte):.4f}")


if __name__ == "__main__":
    main()
