# Hotel search: learning to rank with LightGBM
import numpy as np
import lightgbm as lgb
from sklearn.metrics import ndcg_score

SEED = 12
rng = np.random.default_rng(SEED)


def queries(n_q):
    X, y, g = [], [], []
    for _ in range(n_q):
        k = int(rng.integers(8, 30))
        city = rng.normal(size=3) * 3                      # same for all the hotels of a search
        price, stars, dist = rng.normal(size=k), rng.integers(1, 6, size=k), rng.exponential(size=k)
        other = rng.normal(size=(k, 6))
        util = -price * (1 + 0.3 * city[0]) + 0.7 * stars - 1.2 * dist + 0.5 * other[:, 0] * other[:, 1]
        util += rng.normal(scale=0.6, size=k)
        rank = util.argsort()[::-1].argsort()
        rel = np.zeros(k, int)
        rel[rank < 5] = 1
        rel[rank < 2] = 2
        rel[rank < 1] = 4                                   # booked
        X.append(np.c_[price, stars, dist, other, np.tile(city, (k, 1))])
        y.append(rel)
        g.append(k)
    return np.vstack(X), np.concatenate(y), g


Xtr, ytr, gtr = queries(2000)
Xva, yva, gva = queries(300)
Xte, yte, gte = queries(200)
print("rows", len(Xtr), "share of zero relevance", round(float((ytr == 0).mean()), 3))

train = lgb.Dataset(Xtr, ytr, group=gtr)
valid = lgb.Dataset(Xva, yva, group=gva, reference=train)
params = dict(objective="lambdarank", metric="ndcg", eval_at=[5], learning_rate=0.03, num_leaves=15,
              min_data_in_leaf=40, lambdarank_truncation_level=8, verbose=-1, num_threads=1, seed=SEED)
booster = lgb.train(params, train, num_boost_round=900, valid_sets=[valid],
                    callbacks=[lgb.log_evaluation(100), lgb.early_stopping(120, verbose=False)])


def mean_ndcg(score):
    out, i = [], 0
    for k in gte:
        out.append(ndcg_score([yte[i:i + k]], [score[i:i + k]], k=5))
        i += k
    return np.mean(out)


s = booster.predict(Xte)
print(f"scores from {s.min():.2f} to {s.max():.2f}, best iteration {booster.best_iteration}")
print(f"test NDCG@5 {mean_ndcg(s):.4f}   by stars {mean_ndcg(Xte[:, 1]):.4f}   random {mean_ndcg(rng.random(len(s))):.4f}")
