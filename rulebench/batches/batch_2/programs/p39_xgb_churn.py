"""Churn model with a high-cardinality shop id, target-encoded by hand."""
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(27)
N = 6000
df = pd.DataFrame({
    "tenure": rng.exponential(24, N),
    "spend": rng.gamma(2.0, 30, N),
    "visits": rng.poisson(4, N),
    "age": rng.normal(45, 12, N),
    "shop": rng.integers(0, 4500, N),
})
logit = -0.6 - 0.03 * df.tenure + 0.012 * df.spend - 0.25 * df.visits + 0.015 * df.age
df["churn"] = (rng.random(N) < 1 / (1 + np.exp(-logit))).astype(int)

train, valid = df.iloc[:4500].copy(), df.iloc[4500:].copy()

# shop id has thousands of levels, so replace it by the churn rate seen in the training part
rate = train.groupby("shop")["churn"].mean()
prior = train["churn"].mean()
for part in (train, valid):
    part["shop_rate"] = part["shop"].map(rate).fillna(prior)

cols = ["tenure", "spend", "visits", "age", "shop_rate"]
dtr = xgb.DMatrix(train[cols], label=train["churn"])
dva = xgb.DMatrix(valid[cols], label=valid["churn"])
params = dict(objective="binary:logistic", eval_metric=["logloss", "auc"], eta=0.1, max_depth=4,
              subsample=0.9, colsample_bytree=1.0, min_child_weight=5, nthread=1, seed=27)
res = {}
bst = xgb.train(params, dtr, num_boost_round=250, evals=[(dtr, "train"), (dva, "valid")],
                evals_result=res, verbose_eval=25)
print("valid AUC", round(roc_auc_score(valid["churn"], bst.predict(dva)), 4))
print("gain:", {k: round(v, 1) for k, v in bst.get_score(importance_type="gain").items()})
