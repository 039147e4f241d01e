"""Supervised contrastive pre-training, then a linear probe on the frozen encoder."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def data():
    d = load_digits()
    x = torch.tensor(d.data, dtype=torch.float32) / 16
    y = torch.tensor(d.target)
    p = torch.randperm(len(x), generator=torch.Generator().manual_seed(3))
    return x[p[:1300]], y[p[:1300]], x[p[1300:]], y[p[1300:]]


def augment(x):
    return x + 0.1 * torch.randn_like(x)


def supcon(z, y, tau):
    sim = z @ z.T / tau
    eye = torch.eye(len(z), dtype=torch.bool)
    sim = sim.masked_fill(eye, float("-inf"))
    logp = sim - sim.logsumexp(1, keepdim=True)
    pos = (y[:, None] == y[None, :]) & ~eye
    return -(logp.masked_fill(~pos, 0.0).sum(1) / pos.sum(1)).mean()


def pretrain(enc, proj, x, y, args):
    opt = torch.optim.AdamW([*enc.parameters(), *proj.parameters()], lr=1e-3)
    for ep in range(1, args.epochs + 1):
        tot = []
        for b in torch.randperm(len(x)).split(130):
            v = torch.cat([augment(x[b]), augment(x[b])])
            z = F.normalize(proj(enc(v)), dim=1)
            loss = supcon(z, y[b].repeat(2), args.tau)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot.append(loss.item())
        if ep % 5 == 0:
            print(f"contrastive epoch {ep} loss {sum(tot) / len(tot):.4f}")


def probe(enc, x, y, xt, yt, args):
    for p in enc.parameters():
        p.requires_grad_(False)
    enc.eval()
    head = nn.Linear(64, 10)
    opt = torch.optim.SGD(head.parameters(), lr=0.5, momentum=0.9)
    with torch.no_grad():
        f, ft = F.normalize(enc(x), dim=1), F.normalize(enc(xt), dim=1)
    for it in range(1, 201):
        loss = F.cross_entropy(head(f), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 50 == 0:
            acc = (head(ft).argmax(1) == yt).float().mean().item()
            print(f"probe step {it} loss {loss.item():.4f} test acc {acc:.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--tau", type=float, default=0.1)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, y, xt, yt = data()
    enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
    proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
    pretrain(enc, proj, x, y, args)
    probe(enc, x, y, xt, yt, args)


if __name__ == "__main__":
    main()
