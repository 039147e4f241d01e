# Learning to rank: documents per query, graded relevance 0..3, LightGBM lambdarank
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import ndcg_score

rng = np.random.default_rng(8)
N_QUERIES = 1500

rows = []
for q in range(N_QUERIES):
    n_docs = rng.integers(8, 25)
    q_level = rng.normal(scale=8.0)               # some queries are "popular"
    bm25 = rng.gamma(2, 2, n_docs) + q_level
    clicks = rng.exponential(1.0, n_docs)
    fresh = rng.uniform(0, 1, n_docs)
    length = rng.normal(size=n_docs)
    score = (0.8 * (bm25 - q_level) + 0.9 * clicks - 0.5 * length**2
             + 0.8 * fresh + rng.normal(scale=0.8, size=n_docs))
    rank = score.argsort().argsort() / n_docs
    rel = np.digitize(rank, [0.5, 0.75, 0.9])
    rows.append(pd.DataFrame({
        "qid": q, "bm25": bm25, "clicks": clicks, "fresh": fresh,
        "length": length,
        "rel": rel,
    }))
df = pd.concat(rows, ignore_index=True)
print(df.shape, "relevance counts", df.rel.value_counts().sort_index().to_dict())

train_q = set(range(0, 1000))
val_q = set(range(1000, 1200))
train = df[df.qid.isin(train_q)].sample(frac=1.0, random_state=8).reset_index(drop=True)
val = df[df.qid.isin(val_q)]
test = df[~df.qid.isin(train_q | val_q)]

features = ["bm25", "clicks", "fresh", "length"]


def to_dataset(part, reference=None):
    group = part.groupby("qid").size().to_numpy()
    return lgb.Dataset(part[features], label=part["rel"], group=group, reference=reference)


train_set = to_dataset(train)
val_set = to_dataset(val, reference=train_set)

params = {
    "objective": "lambdarank",
    "metric": "ndcg",
    "ndcg_eval_at": [5],
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 20,
    "seed": 8,
    "num_threads": 1,
    "verbose": -1,
}
evals = {}
model = lgb.train(
    params, train_set, num_boost_round=200,
    valid_sets=[train_set, val_set], valid_names=["train", "val"],
    callbacks=[lgb.log_evaluation(20), lgb.record_evaluation(evals)],
)

scores = []
for q, part in test.groupby("qid"):
    pred = model.predict(part[features])
    scores.append(ndcg_score([part["rel"].to_numpy()], [pred], k=5))
print("test NDCG@5: %.4f over %d queries" % (np.mean(scores), len(scores)))
