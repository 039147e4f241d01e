# LambdaMART for hotel listings: one query = one user search
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import ndcg_score
from sklearn.utils import shuffle

rng = np.random.default_rng(6)
rows = []
for q in range(400):
    m = rng.integers(8, 20)
    market = rng.normal(0, 4)              # price level of the searched city
    price = market + rng.normal(0, 1, m)
    stars = rng.integers(1, 6, m)
    dist = rng.exponential(3, m)
    u = -1.2 * (price - market) + 0.5 * stars - 0.2 * dist + rng.normal(0, 0.5, m) + 1.5 * market
    rel = np.digitize(u - 1.5 * market, np.quantile(u - 1.5 * market, [0.5, 0.8, 0.93]))
    rel = rel + (market > 2)
    rows.append(pd.DataFrame(dict(qid=q, price=price, stars=stars, dist=dist, noise=rng.normal(size=m), rel=rel)))
df = pd.concat(rows, ignore_index=True)
train, test = df[df.qid < 300], df[df.qid >= 300]
features = ["price", "stars", "dist", "noise"]

train = shuffle(train, random_state=0)
group_sizes = train.groupby("qid").size().to_numpy()
dtrain = xgb.DMatrix(train[features], label=train["rel"])
dtrain.set_group(group_sizes)
dtest = xgb.DMatrix(test[features], label=test["rel"])
dtest.set_group(test.groupby("qid").size().to_numpy())

params = dict(objective="rank:ndcg", eval_metric="ndcg@5", eta=0.1, max_depth=4, nthread=1, seed=0)
bst = xgb.train(params, dtrain, num_boost_round=150, evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=25)

scores = pd.Series(bst.predict(dtest), index=test.index)
nd = [ndcg_score([g.rel.to_numpy()], [scores[g.index].to_numpy()], k=5) for _, g in test.groupby("qid")]
print("mean NDCG@5 on test searches: %.4f" % np.mean(nd))
