import numpy as np
import xgboost as xgb
from sklearn.metrics import roc_auc_score

# churn data with missing values, imbalance and a monotone price effect
rng = np.random.default_rng(0)
n = 8000
price = rng.gamma(4, 10, n)
tenure = rng.exponential(24, n)
calls = rng.poisson(1.5, n)
noise = rng.normal(size=(n, 4))
logit = -3.5 + 0.03 * price - 0.04 * tenure + 0.6 * calls + 0.4 * noise[:, 0] * (calls > 2)
y = (rng.uniform(size=n) < 1 / (1 + np.exp(-logit))).astype(int)
X = np.column_stack([price, tenure, calls, noise])
X[rng.uniform(size=X.shape) < 0.05] = np.nan
tr, va, te = np.split(rng.permutation(n), [5000, 6500])
print("churn", y.mean())

d = {k: xgb.DMatrix(X[i], label=y[i]) for k, i in (("train", tr), ("val", va), ("test", te))}
params = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "eta": 0.03, "max_depth": 4,
          "subsample": 0.8, "colsample_bytree": 0.8, "min_child_weight": 5, "lambda": 2.0,
          "monotone_constraints": "(1,-1,1,0,0,0,0)", "nthread": 1, "seed": 1}
bst = xgb.train(params, d["train"], 1500, evals=[(d["train"], "train"), (d["val"], "val")],
                early_stopping_rounds=50, verbose_eval=25)
p = bst.predict(d["test"], iteration_range=(0, bst.best_iteration + 1))
print("best iteration", bst.best_iteration, "test AUC", roc_auc_score(y[te], p), "best possible", roc_auc_score(y[te], logit[te]))
print("mean probability", p.mean(), "rate", y[te].mean())
