import lightgbm as lgb
import numpy as np
from sklearn.metrics import ndcg_score

# Learning to rank hotels for search requests. One request = one group of candidates.
rng = np.random.default_rng(19)


def requests(n_req):
    X, y, group = [], [], []
    for _ in range(n_req):
        k = int(rng.integers(8, 25))
        budget, taste = rng.normal(), rng.normal(size=3)
        price, stars, dist = rng.normal(size=k), rng.integers(1, 6, k), rng.exponential(1, k)
        style = rng.normal(size=(k, 3))
        u = -(price - budget) ** 2 + 0.5 * stars - 0.7 * dist + style @ taste + rng.normal(0, 0.7, k)
        rel = np.zeros(k, dtype=int)
        order = np.argsort(-u)
        rel[order[0]], rel[order[1:3]], rel[order[3:6]] = 3, 2, 1
        X.append(np.column_stack([price, stars, dist, style, np.full(k, budget), np.tile(taste, (k, 1)), price - budget]))
        y.append(rel)
        group.append(k)
    return np.vstack(X), np.concatenate(y), np.array(group)


def mean_ndcg(score, y, group, k=5):
    out, start = [], 0
    for g in group:
        out.append(ndcg_score(y[None, start:start + g], score[None, start:start + g], k=k))
        start += g
    return float(np.mean(out))


Xtr, ytr, gtr = requests(1500)
Xva, yva, gva = requests(150)
Xte, yte, gte = requests(300)

ranker = lgb.LGBMRanker(
    objective="lambdarank", n_estimators=400, learning_rate=0.05, num_leaves=31,
    min_child_samples=20, subsample=0.8, subsample_freq=1, n_jobs=1, random_state=19, verbose=-1)
ranker.fit(Xtr, ytr, group=gtr, eval_set=[(Xva, yva)], eval_group=[gva], eval_at=[5],
           callbacks=[lgb.early_stopping(60), lgb.log_evaluation(50)])

print("NDCG@5 of the model     :", round(mean_ndcg(ranker.predict(Xte), yte, gte), 4))
print("NDCG@5 cheapest first   :", round(mean_ndcg(-Xte[:, 0], yte, gte), 4))
print("NDCG@5 in random order  :", round(mean_ndcg(rng.random(len(yte)), yte, gte), 4))
