import numpy as np
import xgboost as xgb
from sklearn.model_selection import train_test_split
from sklearn.metrics import ndcg_score

# learning to rank for a small shop search: 300 queries, 12 products each
rng = np.random.default_rng(2)
n_q, n_d, n_f = 300, 12, 10
X = rng.normal(size=(n_q, n_d, n_f))
w = np.array([0.0, 1.0, -0.8, 0.6, 0.5, 0, 0, 0, 0, 0])
score = X @ w + 0.4 * X[..., 1] * X[..., 2] + 0.3 * rng.normal(size=(n_q, n_d))
X = X + rng.normal(0, 2.0, (n_q, 1, n_f))  # some searches have better products altogether
# within each query grade 0..4 by score, 4 is the best
order = score.argsort(1).argsort(1)
rel = np.digitize(order, [6, 8, 10, 11])

qid = np.repeat(np.arange(n_q), n_d)
Xf, yf = X.reshape(-1, n_f), rel.reshape(-1)

train_q, test_q = train_test_split(np.arange(n_q), test_size=0.2, random_state=0)
tr = np.flatnonzero(np.isin(qid, train_q))
te = np.flatnonzero(np.isin(qid, test_q))
np.random.default_rng(0).shuffle(tr)

dtrain = xgb.DMatrix(Xf[tr], label=yf[tr])
dtrain.set_group([n_d] * len(train_q))
dtest = xgb.DMatrix(Xf[te], label=yf[te])
dtest.set_group([n_d] * len(test_q))

params = dict(objective="rank:ndcg", eta=0.08, max_depth=4, subsample=0.8,
              eval_metric="ndcg@3", seed=0, nthread=1)
bst = xgb.train(params, dtrain, 150, evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=25)
p = bst.predict(dtest).reshape(-1, n_d)
print("test ndcg@3", ndcg_score(yf[te].reshape(-1, n_d), p, k=3))
