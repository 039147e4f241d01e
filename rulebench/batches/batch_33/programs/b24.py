"""Newsvendor stock levels: predict the 90th percentile of daily demand with a custom XGBoost objective."""
import numpy as np
import xgboost as xgb

ALPHA = 0.9
rng = np.random.default_rng(0)


def demand(n):
    dow = rng.integers(0, 7, n)
    promo = rng.random(n) < 0.2
    temp = rng.normal(15, 8, n)
    mean = 40 + 10 * (dow >= 5) + 25 * promo + 0.8 * np.maximum(temp - 18, 0)
    spread = 4 + 8 * promo + 0.2 * np.maximum(temp, 0)
    y = np.maximum(mean + spread * rng.gumbel(0, 1, n), 0)
    return np.column_stack([dow, promo, temp]).astype("float32"), y


Xtr, ytr = demand(20000)
Xte, yte = demand(4000)


def pinball(y, p):
    e = y - p
    return np.mean(np.maximum(ALPHA * e, (ALPHA - 1) * e))


def quantile_obj(pred, dm):
    # the true second derivative is 0, so a constant stands in for it (plain gradient boosting)
    y = dm.get_label()
    grad = np.where(pred < y, -ALPHA, 1 - ALPHA)
    return grad, np.ones_like(grad)


def metric(pred, dm):
    return "pinball", float(pinball(dm.get_label(), pred))


dtr, dte = xgb.DMatrix(Xtr, ytr), xgb.DMatrix(Xte, yte)
booster = xgb.train(
    {"max_depth": 4, "eta": 1.0, "lambda": 0.0, "min_child_weight": 40, "base_score": float(np.median(ytr)),
     "nthread": 1, "disable_default_eval_metric": 1, "subsample": 0.8, "seed": 1},
    dtr, num_boost_round=1000, obj=quantile_obj, custom_metric=metric,
    evals=[(dtr, "train"), (dte, "test")], verbose_eval=100)

pred = booster.predict(dte)
const = np.quantile(ytr, ALPHA)
print(f"mean demand {yte.mean():.1f}, mean order {pred.mean():.1f}, mean error {np.mean(pred - yte):+.2f}")
print(f"coverage {np.mean(yte <= pred):.3f} (wanted {ALPHA})")
print(f"pinball loss {pinball(yte, pred):.3f}  (constant quantile {pinball(yte, const):.3f})")
