# XGBoost with a custom objective: asymmetric squared error (under-reserving costs 4x)
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_friedman1

X, y = make_friedman1(3000, 10, noise=2.0, random_state=9)
dtr, dva, dte = xgb.DMatrix(X[:2000], y[:2000]), xgb.DMatrix(X[2000:2500], y[2000:2500]), xgb.DMatrix(X[2500:], y[2500:])
COST = 4.0


def asym_obj(pred, dm):
    r = pred - dm.get_label()
    w = np.where(r < 0, COST, 1.0)
    return 2 * w * r, 2 * w


def asym_metric(pred, dm):
    r = pred - dm.get_label()
    return "asym_mse", float(np.mean(np.where(r < 0, COST, 1.0) * r ** 2))


params = dict(eta=0.07, max_depth=4, min_child_weight=10, subsample=0.8, colsample_bytree=0.8, reg_lambda=2.0,
              base_score=float(y[:2000].mean()), disable_default_eval_metric=1, nthread=1, seed=9)
bst = xgb.train(params, dtr, 600, evals=[(dtr, "train"), (dva, "valid")], obj=asym_obj, custom_metric=asym_metric,
                early_stopping_rounds=30, verbose_eval=25)
p = bst.predict(dte, iteration_range=(0, bst.best_iteration + 1))
plain = xgb.train({**params, "objective": "reg:squarederror", "disable_default_eval_metric": 0}, dtr, 200)
print("best iteration", bst.best_iteration)
print("asymmetric cost: ours %.3f, plain squared error %.3f, mean %.3f" % (
    asym_metric(p, dte)[1], asym_metric(plain.predict(dte), dte)[1], asym_metric(np.full(500, y[:2000].mean()), dte)[1]))
print("share over-reserved %.3f" % (p > y[2500:]).mean())
