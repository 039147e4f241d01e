# delivery times: own quantile objective, slow eta, monotone distance, early stopping
import numpy as np
import xgboost as xgb

rng = np.random.default_rng(270)
n = 5000
dist = rng.gamma(2, 2, n)
load = rng.poisson(3, n)
rain = rng.random(n) < 0.2
y = 10 + 4 * dist + 2 * load * (1 + rain) + rng.exponential(6, n)
X = np.c_[dist, load, rain]
dtr, dva = xgb.DMatrix(X[:4000], y[:4000]), xgb.DMatrix(X[4000:], y[4000:])
ALPHA = 0.8


def pinball_obj(pred, d):
    e = d.get_label() - pred
    grad = np.where(e > 0, -ALPHA, 1 - ALPHA)
    return grad, np.ones_like(grad)          # second derivative is zero, use 1


def pinball(pred, d):
    e = d.get_label() - pred
    return "pinball", float(np.maximum(ALPHA * e, (ALPHA - 1) * e).mean())


params = {"eta": 0.5, "max_depth": 4, "subsample": 0.8, "monotone_constraints": "(1,1,1)", "lambda": 0.1,
          "base_score": float(y[:4000].mean()), "disable_default_eval_metric": 1, "nthread": 1, "seed": 1}
bst = xgb.train(params, dtr, 600, evals=[(dtr, "train"), (dva, "valid")], obj=pinball_obj, custom_metric=pinball,
                early_stopping_rounds=40, verbose_eval=50)
p = bst.predict(dva, iteration_range=(0, bst.best_iteration + 1))
print("best round", bst.best_iteration, "| share below:", float((y[4000:] < p).mean()), "wanted", ALPHA)
