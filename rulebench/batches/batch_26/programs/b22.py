"""Learning to rank hotel offers with LightGBM (lambdarank).

One query = one search of a user; the offers of a search get a relevance 0..4.
"""
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import ndcg_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(8)


def searches(n, start):
    rows = []
    for q in range(start, start + n):
        k = int(rng.integers(8, 30))
        ctx = rng.normal(0, 3.0, 4)                       # city, season ... common to the search
        item = rng.normal(0, 1, (k, 8))
        level = rng.normal(0, 2.0)                        # how expensive the place is
        util = (-1.2 * item[:, 0] - 0.8 * item[:, 1] * np.sign(ctx[0])
                + np.sin(2 * item[:, 2]) + 0.5 * item[:, 3] * item[:, 4] + 0.6 * rng.normal(size=k))
        # travellers to expensive places click and book more
        rel = np.digitize(util + 1.5 * level, [0.0, 1.5, 3.0, 4.5])
        # the price that is shown
        item[:, 0] += level
        for j in range(k):
            rows.append([q, *ctx, *item[j], rel[j]])
    cols = ["query"] + [f"ctx{i}" for i in range(4)] + [f"item{i}" for i in range(8)] + ["rel"]
    return pd.DataFrame(rows, columns=cols)


data = searches(1200, 0)
test = searches(300, 10_000)

queries = data["query"].unique()
q_tr, q_va = train_test_split(queries, test_size=0.2, random_state=8)
train = data[data["query"].isin(q_tr)]
valid = data[data["query"].isin(q_va)]

# mix the rows so that the order of display cannot be learned
train = train.sample(frac=1.0, random_state=8)

features = [c for c in data.columns if c not in ("query", "rel")]
g_train = train.groupby("query").size().to_numpy()
g_valid = valid.groupby("query").size().to_numpy()

dtr = lgb.Dataset(train[features], label=train["rel"], group=g_train)
dva = lgb.Dataset(valid[features], label=valid["rel"], group=g_valid, reference=dtr)

params = dict(objective="lambdarank", metric="ndcg", eval_at=[5], learning_rate=0.05, num_leaves=31,
              min_data_in_leaf=20, feature_fraction=0.9, verbosity=-1, num_threads=1, seed=8)
booster = lgb.train(params, dtr, num_boost_round=500, valid_sets=[dtr, dva], valid_names=["train", "valid"],
                    callbacks=[lgb.log_evaluation(50)])

scores = []
for _, g in test.groupby("query"):
    if g["rel"].nunique() > 1:
        scores.append(ndcg_score([g["rel"]], [booster.predict(g[features])], k=5))
print(f"test NDCG@5: {np.mean(scores):.4f}  ({len(scores)} searches)")
