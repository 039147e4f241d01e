"""BPR matrix factorization for implicit feedback (synthetic log)."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_log(n_users, n_items, dim, per_user, seed):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n_users, dim))
    v = rng.normal(size=(n_items, dim))
    score = 1.5 * u @ v.T + rng.gumbel(size=(n_users, n_items))
    top = np.argsort(-score, axis=1)[:, :per_user]
    train, test = [], []
    for i in range(n_users):
        items = rng.permutation(top[i])
        cut = int(0.8 * per_user)
        train += [(i, j) for j in items[:cut]]
        test.append(set(items[cut:].tolist()))
    return np.array(train), test


class BPR(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.bias = nn.Embedding(n_items, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def score(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

    def all_scores(self):
        return self.user.weight @ self.item.weight.T + self.bias.weight.T


class PairSampler:
    def __init__(self, pairs, n_users, n_items, batch_size, seed):
        self.pairs = torch.as_tensor(pairs)
        self.n_users, self.n_items = n_users, n_items
        self.bs = batch_size
        self.g = torch.Generator().manual_seed(seed)
        self.seen = torch.zeros(n_users, n_items, dtype=torch.bool)
        self.seen[self.pairs[:, 0], self.pairs[:, 1]] = True

    def __iter__(self):
        order = torch.randperm(len(self.pairs), generator=self.g)
        for idx in order.split(self.bs):
            u, pos = self.pairs[idx].T
            neg = torch.randint(0, self.n_users, (len(idx),), generator=self.g)
            for _ in range(4):
                clash = self.seen[u, neg]
                if not clash.any():
                    break
                neg[clash] = torch.randint(0, self.n_users, (int(clash.sum()),), generator=self.g)
            yield u, pos, neg


@torch.no_grad()
def recall_at_k(model, seen, test, k=20):
    s = model.all_scores().masked_fill(seen, -1e9)
    top = s.topk(k, dim=1)[1].tolist()
    return float(np.mean([len(test[i] & set(top[i])) / len(test[i]) for i in range(len(test))]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=250)
    ap.add_argument("--items", type=int, default=800)
    ap.add_argument("--dim", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--l2", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, test = make_log(args.users, args.items, 6, 50, 0)
    sampler = PairSampler(train, args.users, args.items, 512, 0)
    model = BPR(args.users, args.items, args.dim)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for ep in range(args.epochs):
        tot, n = 0.0, 0
        for u, pos, neg in sampler:
            diff = model.score(u, pos) - model.score(u, neg)
            reg = (model.user(u).pow(2).sum() + model.item(pos).pow(2).sum()
                   + model.item(neg).pow(2).sum()) / len(u)
            loss = -F.logsigmoid(diff).mean() + args.l2 * reg
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(u)
            n += len(u)
        if ep % 4 == 0 or ep == args.epochs - 1:
            r = recall_at_k(model, sampler.seen, test)
            print(f"epoch {ep:02d} bpr loss {tot/n:.4f} recall@20 {r:.4f}")


if __name__ == "__main__":
    main()
