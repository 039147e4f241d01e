import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import roc_auc_score

# clicks; "device" has very many values, so it is replaced by the mean of the target
rng = np.random.default_rng(1)
n = 8000
df = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
df["device"] = rng.integers(0, 5000, n)
df["y"] = (0.8 * df.a - 0.6 * df.b + rng.normal(0, 1, n) > 0).astype(int)
train, test = df[:6000].copy(), df[6000:].copy()

means = train.groupby("device")["y"].mean()
train["device_te"] = train["device"].map(means)
test["device_te"] = test["device"].map(means).fillna(train["y"].mean())
cols = list("abcdef") + ["device_te"]
dtr, dte = xgb.DMatrix(train[cols], train.y), xgb.DMatrix(test[cols], test.y)
params = {"objective": "binary:logistic", "eval_metric": "auc", "eta": 0.1, "max_depth": 4, "nthread": 1}
bst = xgb.train(params, dtr, 150, evals=[(dtr, "train"), (dte, "test")], verbose_eval=15)
print("test auc", roc_auc_score(test.y, bst.predict(dte)))
print("gain", bst.get_score(importance_type="total_gain"))
