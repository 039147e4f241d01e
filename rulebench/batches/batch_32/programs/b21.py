# learning to rank hotels for search queries with LightGBM
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.metrics import ndcg_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(0)
rows = []
for qid in range(600):
    n = rng.integers(8, 20)
    budget = rng.normal()                 # depends on the query only, it is a feature too
    season = rng.normal(0, 3)             # shifts how generous the clicks of this query are
    f = rng.normal(size=(n, 6))
    s = f[:, 0] - 0.7 * np.abs(f[:, 1] - budget) + 0.5 * f[:, 2] * f[:, 3] + rng.normal(0, 0.3, n)
    rel = np.clip(np.round(1.2 * s + season), 0, 4).astype(int)
    for i in range(n):
        rows.append([qid, budget, *f[i], rel[i]])
cols = ["qid", "budget"] + [f"f{i}" for i in range(6)] + ["rel"]
df = pd.DataFrame(rows, columns=cols)

q_train, q_test = train_test_split(df.qid.unique(), test_size=0.3, random_state=0)
train = df[df.qid.isin(q_train)].sample(frac=1.0, random_state=0)   # shuffle
test = df[df.qid.isin(q_test)]
features = cols[1:-1]

group_train = train.groupby("qid").size().to_numpy()
print("queries", len(group_train), "rows", len(train))

model = lgb.LGBMRanker(objective="lambdarank", n_estimators=1500, learning_rate=0.03,
                       num_leaves=15, min_child_samples=20, n_jobs=1, verbose=-1, random_state=0)
model.fit(train[features], train["rel"], group=group_train,
          eval_set=[(train[features], train["rel"])], eval_group=[group_train], eval_at=[5],
          callbacks=[lgb.log_evaluation(250)])

scores = []
for _, g in test.groupby("qid"):
    if g.rel.nunique() > 1:
        scores.append(ndcg_score([g.rel.to_numpy()], [model.predict(g[features])], k=5))
print("mean test NDCG@5: %.4f over %d queries" % (np.mean(scores), len(scores)))
