import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description="click-through prediction on synthetic logs")
parser.add_argument("--rows", type=int, default=12000)
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--lr", type=float, default=3e-3)
args = parser.parse_args()

rng = np.random.default_rng(99)
torch.manual_seed(99)

n_users, n_items = 60, 40
user_bias = rng.normal(0, 0.5, n_users)
item_bias = rng.normal(0, 0.5, n_items)
u = rng.integers(0, n_users, args.rows)
i = rng.integers(0, n_items, args.rows)
hour = rng.integers(0, 24, args.rows)
true_logit = -2.2 + user_bias[u] + item_bias[i] + 0.4 * np.cos(2 * np.pi * (hour - 20) / 24)
true_prob = 1 / (1 + np.exp(-true_logit))
click = rng.binomial(1, true_prob)

cut = int(0.8 * args.rows)
T = lambda a, dt: torch.tensor(a, dtype=dt)
U, I = T(u, torch.long), T(i, torch.long)
H = T(np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24)], 1), torch.float32)
Y, P = T(click, torch.float32), T(true_prob, torch.float32)


class ClickModel(nn.Module):
    def __init__(self, base_rate):
        super().__init__()
        self.user = nn.Embedding(n_users, 1)
        self.item = nn.Embedding(n_items, 1)
        self.time = nn.Linear(2, 1)
        nn.init.zeros_(self.user.weight)
        nn.init.zeros_(self.item.weight)
        # start at the average click rate
        nn.init.zeros_(self.time.weight)
        nn.init.constant_(self.time.bias, float(np.log(base_rate / (1 - base_rate))))

    def forward(self, u, i, h):
        return (self.user(u) + self.item(i) + self.time(h)).squeeze(-1)


model = ClickModel(click[:cut].mean())
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)


@torch.no_grad()
def report(name, sl):
    logit = model(U[sl], I[sl], H[sl])
    loss = F.binary_cross_entropy_with_logits(logit, Y[sl]).item()
    order = torch.argsort(logit)
    ranks = torch.empty(len(order))
    ranks[order] = torch.arange(1, len(order) + 1, dtype=torch.float32)
    pos = Y[sl] == 1
    auc = (ranks[pos].sum() - pos.sum() * (pos.sum() + 1) / 2) / (pos.sum() * (~pos).sum())
    best = F.binary_cross_entropy(P[sl], Y[sl]).item()
    print(f"{name}: logloss {loss:.4f} auc {auc:.4f} (logloss of the true probabilities {best:.4f})")


test = slice(cut, args.rows)
report("start", test)
for epoch in range(args.epochs):
    total, n = 0.0, 0
    for idx in torch.randperm(cut).split(args.batch):
        loss = F.binary_cross_entropy_with_logits(model(U[idx], I[idx], H[idx]), Y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        n += 1
    print(f"epoch {epoch + 1} mean loss {total / n:.4f}")
    report("test", test)
