"""Expectile boosting for value-at-risk style forecasts: XGBoost with an objective of our own.

Newton steps on the asymmetric squared loss. Trained in two sittings: the second takes up the booster of the first
with a smaller step, as the nightly job does."""
import numpy as np
import xgboost as xgb

SEED = 17
rng = np.random.default_rng(SEED)
TAU = 0.9
n = 9000
X = rng.uniform(-2, 2, (n, 5))
mu = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2
sd = 0.3 + 0.7 * (X[:, 2] > 0)
y = mu + sd * rng.normal(size=n)
Xtr, ytr, Xte, yte = X[:6000], y[:6000], X[6000:], y[6000:]
dtr, dte = xgb.DMatrix(Xtr, ytr), xgb.DMatrix(Xte, yte)


def expectile(pred, d):
    r = d.get_label() - pred
    w = np.where(r > 0, TAU, 1 - TAU)
    return -2 * w * r, 2 * w


def als(pred, d):
    r = d.get_label() - pred
    return "als", float(np.mean(np.where(r > 0, TAU, 1 - TAU) * r ** 2))


params = dict(max_depth=3, eta=0.08, min_child_weight=20, nthread=1, base_score=0.0, seed=SEED, disable_default_eval_metric=1)
first = xgb.train(params, dtr, 150, obj=expectile, custom_metric=als, evals=[(dtr, "train"), (dte, "test")], verbose_eval=50)
second = xgb.train({**params, "eta": 0.02}, dtr, 150, obj=expectile, custom_metric=als,
                   evals=[(dtr, "train"), (dte, "test")], verbose_eval=50, xgb_model=first)

p = second.predict(dte, output_margin=True)
const = np.mean(ytr)
for _ in range(200):
    w = np.where(ytr > const, TAU, 1 - TAU)
    const = (w * ytr).sum() / w.sum()
r = yte - p
print("asymmetric loss: model %.4f, best constant %.4f" % (als(p, dte)[1], als(np.full(len(yte), const), dte)[1]))
# the 0.9 expectile of a normal lies 0.86 sd above the mean
true = mu[6000:] + 0.861 * sd[6000:]
print("correlation with the true expectile %.4f, mean gap %.3f" % (np.corrcoef(p, true)[0, 1], np.mean(p - true)))
