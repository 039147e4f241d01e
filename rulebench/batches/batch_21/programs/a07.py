"""Ranks hotels inside each search; trained on logged searches."""
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import ndcg_score

SEED = 19
FEATURES = ["price", "stars", "review", "distance"]


def make_searches(n_queries, rng, first_id=0):
    rows = []
    for q in range(first_id, first_id + n_queries):
        n = int(rng.integers(8, 20))
        level = rng.normal(0, 1)                       # how expensive the destination is
        price = 120 + 60 * level + rng.normal(0, 20, n)
        stars = rng.integers(1, 6, n)
        review = rng.normal(7.5, 1.0, n)
        distance = rng.gamma(2.0, 1.5, n)
        utility = (
            1.6 * level                                # travellers there book more readily
            - 0.9 * (price - 120 - 60 * level) / 20
            + 0.35 * stars + 0.4 * review - 0.2 * distance
            + rng.normal(0, 0.4, n)
        )
        relevance = np.digitize(utility, [2.5, 3.7, 4.9, 6.1])
        rows.append(pd.DataFrame({
            "qid": q, "price": price, "stars": stars, "review": review,
            "distance": distance, "relevance": relevance,
        }))
    return pd.concat(rows, ignore_index=True)


rng = np.random.default_rng(SEED)
train = make_searches(1200, rng)
test = make_searches(300, rng, first_id=10_000)
print("rows", len(train), "searches", train.qid.nunique())

# shuffle the log before training
train = train.sample(frac=1.0, random_state=SEED).reset_index(drop=True)
group_sizes = train.groupby("qid", sort=False).size().to_numpy()

ranker = lgb.LGBMRanker(
    objective="lambdarank",
    n_estimators=200,
    learning_rate=0.05,
    num_leaves=15,
    min_child_samples=30,
    random_state=SEED,
    n_jobs=1,
    verbose=-1,
)
ranker.fit(
    train[FEATURES], train["relevance"],
    group=group_sizes,
    eval_set=[(train[FEATURES], train["relevance"])],
    eval_group=[group_sizes],
    eval_names=["train"],
    eval_at=[5],
    callbacks=[lgb.log_evaluation(25)],
)

test = test.assign(score=ranker.predict(test[FEATURES]))
ndcg, top = [], []
for _, part in test.groupby("qid"):
    ndcg.append(ndcg_score([part.relevance], [part.score], k=5))
    top.append(part.loc[part.score.idxmax(), "relevance"] == part.relevance.max())
print("test ndcg@5", round(float(np.mean(ndcg)), 4))
print("share of searches with a best hotel on top", round(float(np.mean(top)), 4))
print(pd.Series(ranker.feature_importances_, FEATURES))
