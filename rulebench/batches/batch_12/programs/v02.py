import argparse
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def bag_of_words(n, rng, vocab=200, k=4, length=12):
    topics = np.random.default_rng(0).dirichlet(np.full(vocab, 0.25), size=k)
    y = rng.integers(0, k, n)
    X = np.zeros((n, vocab), "float32")
    for i in range(n):
        mix = 0.45 * topics[y[i]] + 0.55 / vocab
        words = rng.choice(vocab, length, p=mix / mix.sum())
        np.add.at(X[i], words, 1.0)
    return torch.tensor(X), torch.tensor(y)


class Trainer:
    def __init__(self, model, lr, epochs, patience):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.epochs, self.patience = epochs, patience
        self.best_loss, self.best_state, self.best_epoch = float("inf"), None, -1

    def validate(self, x, y):
        self.model.eval()
        with torch.no_grad():
            out = self.model(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def fit(self, x, y, xv, yv, bs=32):
        for ep in range(self.epochs):
            self.model.train()
            perm = torch.randperm(len(x))
            tot = 0.0
            for i in range(0, len(x), bs):
                b = perm[i:i + bs]
                loss = F.cross_entropy(self.model(x[b]), y[b])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                tot += loss.item() * len(b)
            vl, va = self.validate(xv, yv)
            print(f"{ep:02d} train {tot / len(x):.4f} val {vl:.4f} acc {va:.3f}")
            if vl < self.best_loss:
                self.best_loss, self.best_epoch = vl, ep
                self.best_state = self.model.state_dict()
            elif ep - self.best_epoch >= self.patience:
                print("early stop")
                break
        self.model.load_state_dict(self.best_state)
        return self.best_loss


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--patience", type=int, default=15)
    p.add_argument("--lr", type=float, default=4e-3)
    args = p.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(1)
    x, y = bag_of_words(800, rng)
    xv, yv = bag_of_words(400, rng)
    xt, yt = bag_of_words(800, rng)
    model = nn.Sequential(nn.Linear(200, 64), nn.ReLU(), nn.Linear(64, 4))
    tr = Trainer(model, args.lr, args.epochs, args.patience)
    best = tr.fit(x, y, xv, yv)
    print(f"best val loss {best:.4f} in epoch {tr.best_epoch}")
    print("restored model: val loss %.4f acc %.3f" % tr.validate(xv, yv))
    print("test loss %.4f acc %.3f" % tr.validate(xt, yt))


if __name__ == "__main__":
    main()
