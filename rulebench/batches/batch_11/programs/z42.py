"""Matrix factorisation with BPR on implicit feedback."""
import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def make_feedback(n_users, n_items, k, seed):
    r = np.random.default_rng(seed)
    U, V = r.normal(size=(n_users, k)), r.normal(size=(n_items, k))
    S = U @ V.T + 0.5 * r.normal(size=n_items) + 0.5 * r.gumbel(size=(n_users, n_items))
    top = np.argsort(-S, 1)[:, :20]
    test = {u: set(top[u, r.permutation(20)[:4]].tolist()) for u in range(n_users)}
    train = {u: set(top[u].tolist()) - test[u] for u in range(n_users)}
    return train, test


class TripletDataset(Dataset):
    """(user, positive item, negative item)"""

    def __init__(self, train, n_items, seed=0):
        self.users = np.repeat(list(train), [len(items) for items in train.values()])
        self.items = np.array(sorted(i for items in train.values() for i in items))
        self.train, self.n_items = train, n_items
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.users)

    def __getitem__(self, idx):
        u, i = int(self.users[idx]), int(self.items[idx])
        j = int(self.rng.integers(self.n_items))
        while j in self.train[u]:
            j = int(self.rng.integers(self.n_items))
        return u, i, j


class MF(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.bias = nn.Embedding(n_items, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

    def scores(self):
        return self.user.weight @ self.item.weight.T + self.bias.weight.T


@torch.no_grad()
def recall_at(model, train, test, k=20):
    s = model.scores().clone()
    for u, items in train.items():
        s[u, list(items)] = -1e9
    top = s.topk(k, 1).indices.tolist()
    return float(np.mean([len(test[u] & set(top[u])) / len(test[u]) for u in test]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--reg", type=float, default=1e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    n_users, n_items = 300, 300
    train, test = make_feedback(n_users, n_items, 6, 0)
    loader = DataLoader(TripletDataset(train, n_items), 256, shuffle=True)
    model = MF(n_users, n_items, args.dim)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for ep in range(args.epochs):
        tot = correct = n = 0
        for u, i, j in loader:
            pos, neg = model(u, i), model(u, j)
            reg = (model.user(u).pow(2) + model.item(i).pow(2) + model.item(j).pow(2)).sum(-1).mean()
            loss = -nn.functional.logsigmoid(pos - neg).mean() + args.reg * reg
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(u)
            correct += (pos > neg).sum().item()
            n += len(u)
        if ep % 4 == 3:
            print(f"epoch {ep + 1} bpr {tot / n:.4f} train auc {correct / n:.3f} recall@20 {recall_at(model, train, test):.4f}")


if __name__ == "__main__":
    main()
