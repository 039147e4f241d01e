import numpy as np
import xgboost as xgb
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

# Claim counts with different exposure times
rng = np.random.default_rng(4)
n = 6000
X = np.column_stack([rng.integers(18, 85, n), rng.integers(1, 12, n), rng.gamma(3, 30, n), rng.integers(0, 5, n)])
exposure = rng.uniform(0.1, 2.0, n)
rate = 0.3 * np.exp(0.8 * (X[:, 0] < 26) + 0.4 * (X[:, 0] > 70) + 0.005 * (X[:, 2] - 90) + 0.1 * X[:, 3])
claims = rng.poisson(rate * exposure)

idx = np.arange(n)
rest, test = train_test_split(idx, test_size=0.25, random_state=0)
train, valid = train_test_split(rest, test_size=0.2, random_state=0)


def matrix(i):
    return xgb.DMatrix(X[i], label=claims[i], base_margin=np.log(exposure[i]))


params = {"objective": "count:poisson", "eta": 0.05, "max_depth": 3, "min_child_weight": 5,
          "subsample": 0.8, "base_score": 1.0, "nthread": 1, "seed": 0}
booster = xgb.train(params, matrix(train), num_boost_round=500,
                    evals=[(matrix(train), "train"), (matrix(valid), "valid")],
                    early_stopping_rounds=40, verbose_eval=50)

pred = booster.predict(matrix(test), iteration_range=(0, booster.best_iteration + 1))
flat = exposure[test] * claims[train].sum() / exposure[train].sum()
print("best iteration", booster.best_iteration)
print("deviance model", mean_poisson_deviance(claims[test], pred), "flat rate", mean_poisson_deviance(claims[test], flat),
      "true rate", mean_poisson_deviance(claims[test], (rate * exposure)[test]))
print("predicted claims", pred.sum(), "actual", claims[test].sum())
