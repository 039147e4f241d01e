"""Skip-gram with negative sampling and sparse gradients."""
import argparse
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def corpus(n_sent=1500, groups=8, words=15, length=12, seed=0):
    rng = np.random.default_rng(seed)
    sents = []
    for _ in range(n_sent):
        g = rng.integers(groups)
        s = g * words + rng.integers(0, words, length)
        stray = rng.random(length) < 0.2
        s[stray] = rng.integers(0, groups * words, stray.sum())
        sents.append(s)
    return np.array(sents), groups, words


def skipgram_pairs(sents, window):
    left, right = [], []
    for d in range(1, window + 1):
        a, b = sents[:, :-d].ravel(), sents[:, d:].ravel()
        left += [a, b]
        right += [b, a]
    return torch.from_numpy(np.concatenate(left)), torch.from_numpy(np.concatenate(right))


class SGNS(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.inp = nn.Embedding(vocab, dim, sparse=True)
        self.out = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.inp.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.out.weight)

    def forward(self, centre, context, negative):
        v = self.inp(centre)
        pos = (v * self.out(context)).sum(-1)
        neg = torch.einsum("bd,bkd->bk", v, self.out(negative))
        return -(F.logsigmoid(pos) + F.logsigmoid(-neg).sum(1)).mean()


def purity(model, groups, words):
    w = F.normalize(model.inp.weight.detach(), dim=1)
    sim = w @ w.T
    sim.fill_diagonal_(-2)
    label = torch.arange(groups * words) // words
    return (label[sim.argmax(1)] == label).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=24)
    ap.add_argument("--window", type=int, default=3)
    ap.add_argument("--neg", type=int, default=5)
    ap.add_argument("--batch", type=int, default=1024)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    sents, groups, words = corpus()
    c, o = skipgram_pairs(sents, args.window)
    vocab = groups * words
    freq = torch.bincount(o, minlength=vocab).float() ** 0.75
    model = SGNS(vocab, args.dim)
    opt = torch.optim.SparseAdam(model.parameters(), lr=args.lr)
    print("neighbour purity before", purity(model, groups, words))
    for epoch in range(args.epochs):
        tot = n = 0
        for b in torch.randperm(len(c)).split(args.batch):
            neg = torch.multinomial(freq, len(b) * args.neg, replacement=True).view(len(b), args.neg)
            loss = model(c[b], o[b], neg)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot, n = tot + loss.item(), n + 1
        print(f"epoch {epoch + 1} loss {tot / n:.4f} neighbour purity {purity(model, groups, words):.3f}")


if __name__ == "__main__":
    main()
