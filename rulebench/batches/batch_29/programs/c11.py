# Pinball loss as a custom objective: predict the 90% quantile of delivery times.
import numpy as np, xgboost as xgb
SEED = 9
rng = np.random.default_rng(SEED)
n = 6000
X = rng.uniform(-2, 2, (n, 5))
scale = 0.5 + np.abs(X[:, 1])
y = 3 + np.sin(2 * X[:, 0]) + X[:, 2] + scale * rng.exponential(1.0, n)
tr, te = slice(0, 4500), slice(4500, n)
TAU = 0.9

def pinball_obj(pred, dtrain):
    d = dtrain.get_label() - pred
    grad = np.where(d > 0, -TAU, 1 - TAU)
    return grad, np.ones_like(grad)      # second derivative is zero almost everywhere, so plain gradient steps

def pinball(pred, dm):
    d = dm.get_label() - pred
    return "pinball", float(np.maximum(TAU * d, (TAU - 1) * d).mean())

dtr, dte = xgb.DMatrix(X[tr], y[tr]), xgb.DMatrix(X[te], y[te])
bst = xgb.train(dict(max_depth=4, eta=0.3, base_score=float(np.quantile(y[tr], TAU)), nthread=1, disable_default_eval_metric=1, min_child_weight=30, seed=SEED),
                dtr, 500, obj=pinball_obj, custom_metric=pinball, evals=[(dtr, "train"), (dte, "test")], verbose_eval=50)
p = bst.predict(dte)
const = np.quantile(y[tr], TAU)
print("coverage on test %.3f (wanted %.2f)" % ((y[te] <= p).mean(), TAU))
print("pinball loss: model %.4f, constant quantile %.4f" % (pinball(p, dte)[1], pinball(np.full_like(p, const), dte)[1]))
