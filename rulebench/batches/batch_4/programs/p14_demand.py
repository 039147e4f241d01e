# Demand forecasting with LightGBM. Running out of stock costs us 4x more than
# a unit left over, hence our own objective.
import numpy as np
import pandas as pd
import lightgbm as lgb

SEED = 2021
rng = np.random.RandomState(SEED)
UNDER, OVER = 4.0, 1.0

# ---------------------------------------------------------------- data
n_days, n_shops = 420, 12
rows = []
shop_level = rng.gamma(5, 6, n_shops)
for d in range(n_days):
    for s in range(n_shops):
        promo = rng.rand() < 0.12
        week = 1 + 0.35 * np.sin(2 * np.pi * ((d + s) % 7) / 7)
        year = 1 + 0.03 * np.sin(2 * np.pi * d / 365)
        level = shop_level[s] * week * year * (1.6 if promo else 1.0)
        rows.append((d, s, d % 7, int(promo), rng.poisson(level)))
df = pd.DataFrame(rows, columns=["day", "shop", "dow", "promo", "sales"])
for lag in (7, 14):
    df["lag%d" % lag] = df.groupby("shop")["sales"].shift(lag)
df["mean28"] = df.groupby("shop")["sales"].transform(lambda s: s.shift(1).rolling(28).mean())
df = df.dropna()
for c in ("shop", "dow"):
    df[c] = df[c].astype("category")

features = ["shop", "dow", "promo", "lag7", "lag14", "mean28"]
train = df[df.day < 300]
valid = df[(df.day >= 300) & (df.day < 360)]
test = df[df.day >= 360]


# ---------------------------------------------------------------- objective
def asymmetric(preds, dtrain):
    residual = dtrain.get_label() - preds
    grad = np.where(residual > 0, -2 * UNDER * residual, -2 * OVER * residual)
    hess = np.where(residual > 0, 2 * UNDER, 2 * OVER)
    return grad, hess


def cost(y, p):
    r = y - p
    return np.mean(np.where(r > 0, UNDER, OVER) * r ** 2)


def feval(preds, dtrain):
    return "cost", cost(dtrain.get_label(), preds), False


dtr = lgb.Dataset(train[features], train["sales"], free_raw_data=False)
dva = lgb.Dataset(valid[features], valid["sales"], reference=dtr, free_raw_data=False)

params = dict(objective=asymmetric, learning_rate=0.05, num_leaves=15, min_data_in_leaf=20,
              bagging_fraction=0.8, bagging_freq=1, feature_fraction=0.8, lambda_l2=1.0,
              metric="None", seed=SEED, num_threads=1, verbose=-1)
# the trees start from zero here, so the first rounds look awful
booster = lgb.train(params, dtr, num_boost_round=2000, valid_sets=[dtr, dva],
                    valid_names=["train", "valid"], feval=feval,
                    callbacks=[lgb.early_stopping(50, verbose=True), lgb.log_evaluation(50)])

pred = booster.predict(test[features], num_iteration=booster.best_iteration)
print("test cost: model %.1f, same day last week %.1f, mean of 28 days %.1f" % (
    cost(test.sales, pred), cost(test.sales, test.lag7), cost(test.sales, test.mean28)))
print("share of days out of stock: %.3f" % np.mean(test.sales > pred))
print("bias %.2f" % np.mean(pred - test.sales))
