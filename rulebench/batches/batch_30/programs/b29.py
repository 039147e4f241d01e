"""LambdaMART for product search on simulated clicks (LightGBM)."""
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import ndcg_score

rng = np.random.default_rng(31)
N_QUERY = 4000

rows = []
for q in range(N_QUERY):
    n = rng.integers(6, 20)
    intent = rng.normal(size=3)
    base = rng.normal(0, 3)                      # dear categories sell well, cheap ones do not
    for _ in range(n):
        item = rng.normal(size=3)
        offer, age = rng.exponential(1.0), rng.uniform(0, 3)
        price = 10 + 2 * base + offer
        match = float(intent @ item)
        u = base + match - 1.2 * offer - 0.3 * age + rng.normal(0, 0.5)
        rows.append((q, *intent, *item, price, age, match + rng.normal(0, 1), base + rng.normal(0, 2), u))
cols = ["query", "i0", "i1", "i2", "p0", "p1", "p2", "price", "age", "bm25", "qscore", "u"]
df = pd.DataFrame(rows, columns=cols)
df["rel"] = np.digitize(df["u"], [-3.5, -1.5, 0.5, 2.5])

train = df[df["query"] < 3000].sample(frac=1.0, random_state=1).reset_index(drop=True)
valid = df[df["query"] >= 3000].reset_index(drop=True)
feats = cols[1:-1]


def group_sizes(frame):
    return frame.groupby("query").size().to_numpy()


dtrain = lgb.Dataset(train[feats], label=train["rel"], group=group_sizes(train))
dvalid = lgb.Dataset(valid[feats], label=valid["rel"], group=group_sizes(valid), reference=dtrain)
params = dict(objective="lambdarank", metric="ndcg", eval_at=[5], learning_rate=0.05,
              num_leaves=15, min_data_in_leaf=20, verbose=-1, num_threads=1, seed=1)
booster = lgb.train(params, dtrain, num_boost_round=400, valid_sets=[dtrain, dvalid],
                    valid_names=["train", "valid"], callbacks=[lgb.log_evaluation(50)])

scores = []
valid = valid.assign(score=booster.predict(valid[feats]))
for _, g in valid.groupby("query"):
    scores.append(ndcg_score([g["rel"]], [g["score"]], k=5))
print("mean NDCG@5 over validation queries: %.4f" % np.mean(scores))
