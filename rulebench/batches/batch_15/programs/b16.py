# Learning to rank with ListNet. Each query has 12 documents with a graded relevance 0..4.
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
Q, D, F_ = 600, 12, 20
X = rng.standard_normal((Q, D, F_)) + 2.0 * rng.standard_normal((Q, 1, F_))   # query effect
w = rng.standard_normal(F_)
raw = (X - X.mean(1, keepdims=True)) @ w + 1.0 * rng.standard_normal((Q, D))
rel = np.clip(np.round(raw / raw.std() * 1.2 + 2), 0, 4)
X = torch.tensor(X, dtype=torch.float32)
rel = torch.tensor(rel, dtype=torch.float32)
Xtr, Xte, rtr, rte = X[:450], X[450:], rel[:450], rel[450:]


def ndcg(scores, rel, k=5):
    disc = 1 / torch.log2(torch.arange(2, k + 2).float())
    top = rel.gather(1, scores.argsort(1, descending=True)[:, :k])
    best = rel.sort(1, descending=True).values[:, :k]
    return (((2 ** top - 1) * disc).sum(1) / ((2 ** best - 1) * disc).sum(1).clamp(min=1e-9)).mean().item()


scorer = nn.Sequential(nn.Linear(F_, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(scorer.parameters(), lr=2e-3)
print("ndcg before", round(ndcg(scorer(Xte).squeeze(-1), rte), 4))
for epoch in range(30):
    perm = torch.randperm(len(Xtr))
    tot = 0.0
    for b in perm.split(30):
        s = scorer(Xtr[b]).squeeze(-1)
        target = torch.softmax(rtr[b], dim=1)
        loss = -(target * torch.log_softmax(s, dim=1)).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    if epoch % 5 == 4:
        with torch.no_grad():
            print(epoch + 1, "loss", round(tot / 15, 4), "ndcg@5", round(ndcg(scorer(Xte).squeeze(-1), rte), 4))
