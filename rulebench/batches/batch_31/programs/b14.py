"""Learning to rank with LightGBM: documents of a query are ordered by graded relevance."""
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.model_selection import train_test_split
from sklearn.metrics import ndcg_score

rng = np.random.default_rng(10)
rows = []
for q in range(500):
    n_docs = rng.integers(8, 30)
    q_hard = rng.normal(0, 4.0)                     # popularity of the topic moves all of its documents
    f = rng.normal(size=(n_docs, 8))
    quality = f[:, 0] + 0.8 * f[:, 1] * (f[:, 2] > 0) - 0.6 * np.abs(f[:, 3]) + rng.normal(0, 0.4, n_docs)
    rank = quality.argsort().argsort() / n_docs
    rel = np.digitize(rank, [0.5, 0.7, 0.85, 0.95])
    f[:, 4] = q_hard + rng.normal(0, 1, n_docs)
    f[:, :4] += 0.6 * q_hard                         # raw scores carry the topic's offset
    for i in range(n_docs):
        rows.append([q, *f[i], rel[i]])
df = pd.DataFrame(rows, columns=["qid"] + [f"f{i}" for i in range(8)] + ["rel"])
print(df.head())

queries = df.qid.unique()
tr_q, te_q = train_test_split(queries, test_size=0.3, random_state=1)
train = df[df.qid.isin(tr_q)].sample(frac=1.0, random_state=1).reset_index(drop=True)
test = df[df.qid.isin(te_q)].reset_index(drop=True)
features = [f"f{i}" for i in range(8)]

train_groups = train.groupby("qid").size().to_numpy()
test_groups = test.groupby("qid").size().to_numpy()
print("training queries", len(train_groups), "documents", train_groups.sum())

ranker = lgb.LGBMRanker(objective="lambdarank", n_estimators=500, learning_rate=0.05, num_leaves=15,
                        min_child_samples=20, n_jobs=1, random_state=1, verbose=-1)
ranker.fit(train[features], train["rel"], group=train_groups,
           eval_set=[(train[features], train["rel"]), (test[features], test["rel"])],
           eval_group=[train_groups, test_groups], eval_names=["train", "test"],
           eval_at=[5], callbacks=[lgb.log_evaluation(50)])

scores = []
for q, g in test.groupby("qid"):
    scores.append(ndcg_score([g["rel"].to_numpy()], [ranker.predict(g[features])], k=5))
print("mean NDCG@5 on unseen queries: %.4f" % np.mean(scores))
