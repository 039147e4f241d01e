import argparse

import numpy as np
import xgboost as xgb
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser(description="Demand forecast with an asymmetric cost")
parser.add_argument("--rounds", type=int, default=150)
parser.add_argument("--eta", type=float, default=0.05)
parser.add_argument("--depth", type=int, default=4)
parser.add_argument("--under-cost", type=float, default=3.0)
parser.add_argument("--seed", type=int, default=7)
args = parser.parse_args()

rng = np.random.default_rng(args.seed)
n = 20000
weekday = rng.integers(0, 7, n)
month = rng.integers(1, 13, n)
price = rng.uniform(1.0, 5.0, n)
promo = rng.random(n) < 0.2
temp = 12 + 10 * np.sin((month - 4) / 12 * 2 * np.pi) + rng.normal(0, 3, n)
demand = (
    60 - 8 * price + 15 * promo + 0.8 * temp
    + np.array([0, -2, -2, 0, 5, 14, 9])[weekday]
    + rng.normal(0, 5, n)
)
X = np.column_stack([weekday, month, price, promo, temp]).astype("float32")
y = demand.astype("float32")

X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.2, random_state=args.seed)
dtrain = xgb.DMatrix(X_tr, label=y_tr, feature_names=["weekday", "month", "price", "promo", "temp"])
dvalid = xgb.DMatrix(X_va, label=y_va, feature_names=["weekday", "month", "price", "promo", "temp"])


def asymmetric_squared(preds, dmatrix):
    """Running out of stock costs more than a full store room."""
    residual = dmatrix.get_label() - preds
    weight = np.where(residual > 0, args.under_cost, 1.0)
    grad = 2.0 * weight * residual
    hess = 2.0 * weight
    return grad, hess


def asymmetric_cost(preds, dmatrix):
    residual = dmatrix.get_label() - preds
    weight = np.where(residual > 0, args.under_cost, 1.0)
    return "cost", float(np.mean(weight * residual ** 2))


params = {
    "eta": args.eta,
    "max_depth": args.depth,
    "subsample": 0.8,
    "base_score": float(y_tr.mean()),
    "seed": args.seed,
    "nthread": 1,
    "disable_default_eval_metric": 1,
}
booster = xgb.train(
    params,
    dtrain,
    num_boost_round=args.rounds,
    obj=asymmetric_squared,
    custom_metric=asymmetric_cost,
    evals=[(dtrain, "train"), (dvalid, "valid")],
    verbose_eval=25,
)

pred = booster.predict(dvalid)
print("MAE  ", round(mean_absolute_error(y_va, pred), 3))
print("R2   ", round(r2_score(y_va, pred), 4))
print("share of under-forecasts", round(float((pred < y_va).mean()), 3))
