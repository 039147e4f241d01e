# Learning-to-rank for an internal document search.
# Relevance 0..3 per (query, doc) pair, LambdaMART via LightGBM.
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import ndcg_score

rng = np.random.default_rng(21)
n_q = 1600
rows = []
for q in range(n_q):
    n_d = rng.integers(8, 30)
    base = rng.normal(0, 4.0)               # query difficulty, shifts all features
    f = rng.normal(size=(n_d, 4)) + base
    util = (f[:, 0] - base) + 0.8 * (f[:, 1] - base) * (f[:, 2] > base) + rng.normal(0, .4, n_d)
    rel = np.digitize(util, np.quantile(util, [.5, .75, .92]))
    d = pd.DataFrame(f, columns=[f"bm{i}" for i in range(4)])
    d["qid"], d["rel"] = q, rel
    rows.append(d)
df = pd.concat(rows, ignore_index=True)

train_q = set(rng.permutation(n_q)[:1200])
tr = df[df.qid.isin(train_q)]
te = df[~df.qid.isin(train_q)]

# shuffle so that the trees do not see the queries in crawl order
tr = tr.sample(frac=1.0, random_state=1)

feats = [c for c in df.columns if c not in ("qid", "rel")]
dtrain = lgb.Dataset(tr[feats], tr.rel, group=tr.groupby("qid").size().to_numpy())
dvalid = lgb.Dataset(te[feats], te.rel, group=te.groupby("qid").size().to_numpy(), reference=dtrain)

params = dict(objective="lambdarank", metric="ndcg", eval_at=[5], learning_rate=0.05,
              num_leaves=31, min_data_in_leaf=20, verbosity=-1, num_threads=1, seed=3)
booster = lgb.train(params, dtrain, num_boost_round=400, valid_sets=[dtrain, dvalid],
                    valid_names=["train", "valid"], callbacks=[lgb.log_evaluation(50)])

te = te.assign(score=booster.predict(te[feats]))
scores = [ndcg_score([g.rel.to_numpy()], [g.score.to_numpy()], k=5) for _, g in te.groupby("qid")]
print("held-out NDCG@5: %.4f over %d queries" % (np.mean(scores), len(scores)))
