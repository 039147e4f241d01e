import numpy as np
import lightgbm as lgb
from sklearn.metrics import ndcg_score

rng = np.random.default_rng(44)

# search results: 2000 queries with 10 to 40 documents each
sizes = rng.integers(10, 41, 2000)
rows, rel = [], []
for n in sizes:
    query_bias = rng.normal(0, 1, 3)
    f = rng.normal(0, 1, (n, 12))
    s = f[:, 0] + 0.8 * np.tanh(f[:, 1] * 2) + 0.7 * f[:, 2] * (f[:, 3] > 0) + rng.normal(0, 0.7, n)
    rel.append(np.digitize(s, [0.6, 1.3, 2.0]))
    rows.append(np.hstack([f, np.tile(query_bias, (n, 1))]))

cut = 1500
X_train, y_train, g_train = np.vstack(rows[:cut]), np.concatenate(rel[:cut]), sizes[:cut]
X_valid, y_valid, g_valid = np.vstack(rows[cut:1750]), np.concatenate(rel[cut:1750]), sizes[cut:1750]
print("documents:", len(X_train), "relevance counts:", np.bincount(y_train))

train = lgb.Dataset(X_train, y_train, group=g_train)
valid = lgb.Dataset(X_valid, y_valid, group=g_valid, reference=train)
params = dict(objective="lambdarank", metric="ndcg", eval_at=[5, 10], learning_rate=0.015, num_leaves=31,
              min_data_in_leaf=30, feature_fraction=0.8, bagging_fraction=0.8, bagging_freq=1,
              num_threads=1, seed=44, verbose=-1)
booster = lgb.train(params, train, num_boost_round=800, valid_sets=[valid], valid_names=["valid"],
                    callbacks=[lgb.log_evaluation(50), lgb.early_stopping(150)])


def mean_ndcg(score_of):
    out = []
    for X, r in zip(rows[1750:], rel[1750:]):
        if r.max() > 0:
            out.append(ndcg_score(r[None], score_of(X)[None], k=10))
    return np.mean(out)


print("trees used:", booster.best_iteration)
print("test NDCG@10: %.4f, ordering by the first feature: %.4f, random: %.4f" % (
    mean_ndcg(booster.predict), mean_ndcg(lambda X: X[:, 0]), mean_ndcg(lambda X: rng.random(len(X)))))
