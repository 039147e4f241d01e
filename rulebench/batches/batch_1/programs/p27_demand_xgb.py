"""Forecast product demand with XGBoost: out-of-time split, so rows are put in time order first."""
import numpy as np
import xgboost as xgb

rng = np.random.default_rng(2)
n = 6000
day = rng.integers(0, 730, n)                      # rows come from several stores, unordered
price = rng.gamma(4, 2.5, n)
promo = rng.random(n) < 0.15
store = rng.integers(0, 12, n)
temp = 14 + 9 * np.sin(2 * np.pi * (day - 100) / 365) + rng.normal(0, 2, n)
demand = 60 - 2.1 * price + 18 * promo + 1.3 * temp + 3 * (store % 4) + 8 * (day % 7 >= 5) + rng.normal(0, 4, n)

X = np.column_stack([price, promo, store, temp, day % 7])
y = demand

order = np.argsort(day, kind="stable")
X = X[order]
n_train = int(0.8 * n)
dtrain = xgb.DMatrix(X[:n_train], label=y[:n_train], feature_names=["price", "promo", "store", "temp", "dow"])
dvalid = xgb.DMatrix(X[n_train:], label=y[n_train:], feature_names=["price", "promo", "store", "temp", "dow"])

params = {
    "objective": "reg:squarederror",
    "eta": 0.05,
    "max_depth": 5,
    "subsample": 0.8,
    "colsample_bytree": 0.9,
    "min_child_weight": 5,
    "nthread": 1,
    "seed": 2,
}
booster = xgb.train(params, dtrain, num_boost_round=300, evals=[(dtrain, "train"), (dvalid, "valid")], verbose_eval=30)
pred = booster.predict(dvalid)
print("valid rmse %.3f" % np.sqrt(np.mean((pred - y[n_train:]) ** 2)))
print("importance (gain):", {k: round(v, 1) for k, v in booster.get_score(importance_type="gain").items()})
