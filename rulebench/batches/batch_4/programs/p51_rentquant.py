# rent prediction with 10/50/90 % quantiles, xgboost native api
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.model_selection import train_test_split

SEED = 1980
rng = np.random.default_rng(SEED)

n = 24000
size = rng.gamma(6, 12, n)
rooms = np.clip((size / 25 + rng.normal(0, 0.7, n)).round(), 1, 8)
dist = rng.exponential(5, n)
year = rng.integers(1900, 2024, n)
floor = rng.integers(0, 9, n)
district = rng.integers(0, 15, n)
level = rng.normal(0, 0.15, 15)
log_rent = 5.2 + 0.75 * np.log(size) - 0.03 * dist + level[district] + 0.1 * (year > 2000) + 0.01 * floor
rent = np.exp(log_rent + rng.normal(0, 1, n) * (0.08 + 0.02 * np.minimum(dist, 10)))     # noise grows with distance
df = pd.DataFrame(dict(size=size, rooms=rooms, dist=dist, year=year, floor=floor, district=district))
df.loc[rng.random(n) < 0.08, "year"] = np.nan            # missing values stay missing
df["district"] = df["district"].astype("category")

X_tr, X_tmp, y_tr, y_tmp = train_test_split(df, rent, test_size=0.4, random_state=SEED)
X_va, X_te, y_va, y_te = train_test_split(X_tmp, y_tmp, test_size=0.5, random_state=SEED)

alphas = np.array([0.1, 0.5, 0.9])
dtrain = xgb.QuantileDMatrix(X_tr, y_tr, enable_categorical=True)
dvalid = xgb.QuantileDMatrix(X_va, y_va, ref=dtrain, enable_categorical=True)
dtest = xgb.DMatrix(X_te, enable_categorical=True)

params = {
    "objective": "reg:quantileerror",
    "quantile_alpha": alphas,
    "tree_method": "hist",
    "learning_rate": 0.08,
    "max_depth": 4,
    "subsample": 0.7,
    "min_child_weight": 80,
    "nthread": 1,
    "seed": SEED,
}
log = {}
bst = xgb.train(params, dtrain, num_boost_round=800, evals=[(dtrain, "train"), (dvalid, "valid")],
                early_stopping_rounds=40, evals_result=log, verbose_eval=50)
p = bst.predict(dtest, iteration_range=(0, bst.best_iteration + 1))
pinball = [np.maximum(a * (y_te - p[:, i]), (a - 1) * (y_te - p[:, i])).mean() for i, a in enumerate(alphas)]
const = [np.maximum(a * (y_te - np.quantile(y_tr, a)), (a - 1) * (y_te - np.quantile(y_tr, a))).mean() for a in alphas]
print("best iteration", bst.best_iteration)
print("pinball per quantile", np.round(pinball, 2), "of a constant", np.round(const, 2))
print("share below each quantile", [(y_te < p[:, i]).mean().round(3) for i in range(3)])
print("bias of the lower quantile", (p[:, 0] - y_te).mean().round(1), "of the median", (p[:, 1] - y_te).mean().round(1))
