"""How many loaves to bake?  An order that is one short costs 4, one too many costs 1.

LightGBM with an own objective that is the cost itself.
"""
import lightgbm as lgb
import numpy as np
from sklearn.model_selection import train_test_split

SEED = 15
UNDER, OVER = 4.0, 1.0
rng = np.random.default_rng(SEED)
n = 50000
weekday = rng.integers(0, 7, n)
temp = rng.normal(15, 8, n)
rain = rng.random(n) < 0.3
promo = rng.random(n) < 0.1
shop = rng.integers(0, 12, n)
level = 40 + 6 * np.sin(shop) + np.array([0, -3, -2, 0, 5, 15, 8])[weekday] - 6 * rain + 0.2 * temp + 18 * promo
demand = rng.gamma(shape=6 + 10 * (~rain), scale=1.0) / (6 + 10 * (~rain)) * level
X = np.column_stack([weekday, temp, rain, promo, shop]).astype(float)
X_tr, X_te, d_tr, d_te = train_test_split(X, demand, test_size=0.25, random_state=SEED)
X_tr, X_va, d_tr, d_va = train_test_split(X_tr, d_tr, test_size=0.2, random_state=SEED)


def cost(order, demand):
    gap = demand - order
    return np.where(gap > 0, UNDER * gap, -OVER * gap).mean()


def objective(pred, data):
    gap = data.get_label() - pred
    grad = np.where(gap > 0, -UNDER, OVER)
    hess = np.ones_like(pred)          # the cost is piecewise linear, there is no curvature to give
    return grad, hess


def metric(pred, data):
    return "bakery_cost", cost(pred, data.get_label()), False


start = np.quantile(d_tr, UNDER / (UNDER + OVER))
train = lgb.Dataset(X_tr, d_tr, init_score=np.full(len(d_tr), start), free_raw_data=False)
valid = lgb.Dataset(X_va, d_va, init_score=np.full(len(d_va), start), reference=train)
params = dict(objective=objective, num_leaves=15, learning_rate=0.05, min_data_in_leaf=60, num_threads=1,
              seed=SEED, verbosity=-1, metric="None")
booster = lgb.train(params, train, num_boost_round=2500, valid_sets=[valid], feval=metric,
                    callbacks=[lgb.early_stopping(150, verbose=False), lgb.log_evaluation(100)])
order = booster.predict(X_te) + start

mean_model = lgb.train(dict(objective="l2", num_leaves=15, learning_rate=0.08, num_threads=1, verbosity=-1),
                       lgb.Dataset(X_tr, d_tr), num_boost_round=200)
print("trees used:", booster.best_iteration)
print("cost per day, test: one quantity for all %.3f | forecast of the mean %.3f | this model %.3f"
      % (cost(start, d_te), cost(mean_model.predict(X_te), d_te), cost(order, d_te)))
print("share of days sold out: %.3f" % (d_te > order).mean())
