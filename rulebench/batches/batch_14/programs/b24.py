"""BPR matrix factorisation on implicit feedback."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_interactions(n_users, n_items, seed, dim=5, per_user=25):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n_users, dim))
    v = rng.normal(size=(n_items, dim))
    score = u @ v.T + rng.gumbel(0, 0.7, size=(n_users, n_items))
    top = np.argsort(-score, axis=1)[:, :per_user]
    train, test = [], []
    for i in range(n_users):
        items = rng.permutation(top[i])
        train += [(i, j) for j in items[5:]]
        test += [(i, j) for j in items[:5]]
    return np.array(train), np.array(test)


class BPRMF(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user_emb = nn.Embedding(n_users, dim)
        self.item_emb = nn.Embedding(n_items, dim)
        self.item_bias = nn.Embedding(n_items, 1)
        nn.init.normal_(self.user_emb.weight, std=0.05)
        nn.init.normal_(self.item_emb.weight, std=0.05)
        nn.init.zeros_(self.item_bias.weight)

    def score(self, users, items):
        dot = (self.user_emb(users) * self.item_emb(users)).sum(-1)
        return dot + self.item_bias(items).squeeze(-1)

    def forward(self, users, pos, neg):
        return self.score(users, pos) - self.score(users, neg)


class Sampler:
    def __init__(self, train, n_items, seed):
        self.train = train
        self.n_items = n_items
        self.rng = np.random.default_rng(seed)
        self.seen = set(map(tuple, train))

    def epoch(self, batch_size):
        order = self.rng.permutation(len(self.train))
        for s in range(0, len(order), batch_size):
            b = self.train[order[s:s + batch_size]]
            neg = self.rng.integers(0, self.n_items, len(b))
            for k, (u, j) in enumerate(zip(b[:, 0], neg)):
                while (u, j) in self.seen:
                    j = self.rng.integers(0, self.n_items)
                neg[k] = j
            yield torch.from_numpy(b[:, 0]), torch.from_numpy(b[:, 1]), torch.from_numpy(neg)


@torch.no_grad()
def hit_rate(model, train, test, n_users, n_items, k=20):
    users = torch.arange(n_users).repeat_interleave(n_items)
    items = torch.arange(n_items).repeat(n_users)
    s = model.score(users, items).view(n_users, n_items)
    s[train[:, 0], train[:, 1]] = -1e9
    top = s.topk(k, dim=1).indices.numpy()
    return np.mean([j in top[u] for u, j in test])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--users", type=int, default=300)
    p.add_argument("--items", type=int, default=300)
    p.add_argument("--dim", type=int, default=16)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--reg", type=float, default=1e-5)
    a = p.parse_args()
    torch.manual_seed(0)
    train, test = make_interactions(a.users, a.items, 0)
    sampler = Sampler(train, a.items, 1)
    model = BPRMF(a.users, a.items, a.dim)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr, weight_decay=a.reg)
    for ep in range(a.epochs):
        losses = []
        for u, i, j in sampler.epoch(256):
            loss = -F.logsigmoid(model(u, i, j)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if ep % 5 == 4:
            print(f"epoch {ep + 1:3d} bpr {np.mean(losses):.4f} HR@20 {hit_rate(model, train, test, a.users, a.items):.3f}")


if __name__ == "__main__":
    main()
