# Learning to rank with XGBoost on synthetic query/document pairs
import numpy as np
import xgboost as xgb
from sklearn.metrics import ndcg_score
from sklearn.utils import shuffle

rng = np.random.default_rng(31)
N_QUERIES, N_FEAT = 1000, 8
w = rng.normal(0, 1, N_FEAT)

rows, rel, qid = [], [], []
for q in range(N_QUERIES):
    n = int(rng.integers(8, 25))
    f = rng.normal(0, 1, (n, N_FEAT))
    u = f @ w + 0.8 * f[:, 5] * f[:, 6] + rng.normal(0, 1.0, n)
    # judges grade the documents of one query against each other
    grade = np.floor(5 * u.argsort().argsort() / n)
    f = f + rng.normal(0, 1.5, N_FEAT)            # level of the features depends on the query
    rows.append(f)
    rel.append(grade)
    qid.append(np.full(n, q))
X, y, qid = np.concatenate(rows), np.concatenate(rel), np.concatenate(qid)

train = qid < 700
Xtr, ytr, qtr = X[train], y[train], qid[train]
Xte, yte, qte = X[~train], y[~train], qid[~train]

# group sizes in order of appearance
_, group = np.unique(qtr, return_counts=True)
# no order effects from the log file, please
Xtr, ytr = shuffle(Xtr, ytr, random_state=0)

dtrain = xgb.DMatrix(Xtr, label=ytr)
dtrain.set_group(group)
dtest = xgb.DMatrix(Xte, label=yte)
dtest.set_group(np.unique(qte, return_counts=True)[1])

params = {
    "objective": "rank:pairwise",
    "eval_metric": "ndcg@5",
    "eta": 0.08,
    "max_depth": 4,
    "min_child_weight": 1,
    "subsample": 0.8,
    "nthread": 1,
    "seed": 1,
}
bst = xgb.train(params, dtrain, num_boost_round=500, evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=50)

score = bst.predict(dtest)
vals = []
for q in np.unique(qte):
    m = qte == q
    if m.sum() > 1 and yte[m].max() > 0:
        vals.append(ndcg_score([yte[m]], [score[m]], k=5))
print("mean NDCG@5 over %d test queries: %.4f" % (len(vals), np.mean(vals)))
