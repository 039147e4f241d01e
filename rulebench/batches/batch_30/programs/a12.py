# Stock level planning: we want the demand that is not exceeded in 90% of the weeks.
import lightgbm as lgb
import numpy as np
import pandas as pd

RANDOM_STATE = 31
rng = np.random.default_rng(RANDOM_STATE)

shops, weeks = 200, 104
rows = []
for s in range(shops):
    size, season = rng.uniform(20, 120), rng.uniform(0.1, 0.5)
    for w in range(weeks):
        promo = rng.random() < 0.15
        lam = size * (1 + season * np.sin(2 * np.pi * w / 52)) * (1.6 if promo else 1.0)
        rows.append((s, w, w % 52, size + rng.normal(0, 2), promo, rng.gamma(6.0, lam / 6.0)))
df = pd.DataFrame(rows, columns=["shop", "week", "woy", "size", "promo", "demand"])
df["promo"] = df.promo.astype(int)
df["sin"], df["cos"] = np.sin(2 * np.pi * df.woy / 52), np.cos(2 * np.pi * df.woy / 52)

features = ["size", "promo", "sin", "cos", "shop"]
train = df[df.week < 80]
valid = df[(df.week >= 80) & (df.week < 92)]
test = df[df.week >= 92]

params = dict(objective="quantile", alpha=0.9, metric="quantile", learning_rate=0.006, num_leaves=15,
              min_data_in_leaf=40, lambda_l2=1.0, verbosity=-1, num_threads=1, seed=RANDOM_STATE)
dtr = lgb.Dataset(train[features], train.demand, categorical_feature=["shop"])
dva = lgb.Dataset(valid[features], valid.demand, reference=dtr)
booster = lgb.train(params, dtr, 6000, valid_sets=[dtr, dva], valid_names=["train", "valid"],
                    callbacks=[lgb.early_stopping(300), lgb.log_evaluation(250)])

pred = booster.predict(test[features])


def pinball(y, q, a=0.9):
    return np.mean(np.maximum(a * (y - q), (a - 1) * (y - q)))


base = np.quantile(train.demand, 0.9)
print("rows below the forecast: %.3f (wanted 0.90)" % np.mean(test.demand <= pred))
print("mean forecast %.1f, mean demand %.1f" % (pred.mean(), test.demand.mean()))
print("pinball loss: model %.3f, constant %.3f" % (pinball(test.demand, pred), pinball(test.demand, base)))
