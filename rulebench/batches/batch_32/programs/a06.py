"""Delivery-time promise: we want a value that 90 % of deliveries stay below.
Pinball loss as a custom objective (the booster in production is older than
reg:quantileerror)."""
import numpy as np
import xgboost as xgb

SEED = 6
rng = np.random.default_rng(SEED)
n = 12000
dist = rng.gamma(2.0, 3.0, n)
hour = rng.integers(0, 24, n)
rain = rng.random(n) < 0.2
items = rng.poisson(3, n)
rush = ((hour > 16) & (hour < 20)).astype(float)
mean = 8 + 2.2 * dist + 6 * rush + 4 * rain + 0.8 * items
t = mean + rng.exponential(2 + 0.5 * dist + 4 * rush)
X = np.c_[dist, hour, rain, items]
tr, te = np.arange(n) < 9000, np.arange(n) >= 9000
ALPHA = 0.9


def pinball_obj(pred, d):
    y = d.get_label()
    g = np.where(y > pred, -ALPHA, 1 - ALPHA)
    return g, np.ones_like(g)


def pinball(pred, d):
    e = d.get_label() - pred
    return "pinball", float(np.mean(np.maximum(ALPHA * e, (ALPHA - 1) * e)))


dtr, dte = xgb.DMatrix(X[tr], t[tr]), xgb.DMatrix(X[te], t[te])
params = dict(max_depth=4, eta=0.3, min_child_weight=20, base_score=float(np.median(t[tr])),
              nthread=1, disable_default_eval_metric=1, seed=SEED, reg_lambda=0.0)
bst = xgb.train(params, dtr, 2500, evals=[(dtr, "train"), (dte, "test")], obj=pinball_obj,
                custom_metric=pinball, verbose_eval=250)
p = bst.predict(dte)
q = np.quantile(t[tr], ALPHA)
e0 = t[te] - q
print("constant quantile pinball: %.3f" % np.mean(np.maximum(ALPHA * e0, (ALPHA - 1) * e0)))
print("model pinball: %.3f   coverage: %.3f" % (pinball(p, dte)[1], np.mean(t[te] <= p)))
