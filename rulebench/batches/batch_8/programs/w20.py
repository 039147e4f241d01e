import numpy as np
import xgboost as xgb

# claim counts with exposure as an offset
rng = np.random.default_rng(304)
n = 9000
X = rng.normal(size=(n, 8))
expo = rng.uniform(0.2, 2.0, n)
lam = expo * np.exp(-0.7 + 0.5 * X[:, 0] - 0.4 * np.abs(X[:, 1]) + 0.5 * (X[:, 2] > 0.5))
y = rng.poisson(lam)
sets = []
for s in (slice(0, 5400), slice(5400, 7200), slice(7200, n)):
    d = xgb.DMatrix(X[s], label=y[s])
    d.set_base_margin(np.log(expo[s]))
    sets.append(d)
params = dict(objective="count:poisson", eval_metric="poisson-nloglik", eta=0.05, max_depth=4,
              subsample=0.8, colsample_bytree=0.8, min_child_weight=5, nthread=1, seed=1)
bst = xgb.train(params, sets[0], 800, evals=[(sets[0], "train"), (sets[1], "valid")],
                early_stopping_rounds=40, verbose_eval=50)
p = bst.predict(sets[2], iteration_range=(0, bst.best_iteration + 1))
t = y[7200:]


def nll(mu):
    return (mu - t * np.log(mu)).mean()


print("best iteration", bst.best_iteration, "claims", t.sum(), "predicted", p.sum())
print("nll model", nll(p), "constant rate", nll(expo[7200:] * y[:5400].sum() / expo[:5400].sum()), "truth", nll(lam[7200:]))
