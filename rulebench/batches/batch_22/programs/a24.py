"""Inventory forecasting with an asymmetric squared error: running out costs four times more."""
import numpy as np
import pandas as pd
import xgboost as xgb

SEED = 23
UNDER, OVER = 4.0, 1.0


def build_frame():
    rng = np.random.default_rng(SEED)
    stores, weeks = 30, 130
    rows = []
    for s in range(stores):
        base = rng.uniform(20, 80)
        amp = rng.uniform(3, 15)
        promo = rng.random(weeks) < 0.15
        w = np.arange(weeks)
        demand = base + amp * np.sin(2 * np.pi * w / 52) + 12 * promo + rng.normal(0, 5, weeks)
        rows.append(pd.DataFrame({"store": s, "week": w, "promo": promo.astype(int), "demand": demand}))
    df = pd.concat(rows, ignore_index=True)
    g = df.groupby("store")["demand"]
    df["lag1"] = g.shift(1)
    df["lag2"] = g.shift(2)
    df["lag52"] = g.shift(52)
    df["mean8"] = g.transform(lambda s: s.shift(1).rolling(8).mean())
    df["week_of_year"] = df.week % 52
    return df.dropna()


def asym_objective(pred, dmat):
    err = pred - dmat.get_label()
    weight = np.where(err < 0, UNDER, OVER)
    return weight * err, weight


def asym_cost(pred, dmat=None, y=None):
    y = dmat.get_label() if y is None else y
    err = pred - y
    return "cost", float(np.mean(np.where(err < 0, UNDER, OVER) * err ** 2))


df = build_frame()
features = ["promo", "lag1", "lag2", "lag52", "mean8", "week_of_year"]
train, val, test = df[df.week < 105], df[(df.week >= 105) & (df.week < 117)], df[df.week >= 117]
mats = {k: xgb.DMatrix(d[features], label=d["demand"]) for k, d in
        (("train", train), ("val", val), ("test", test))}

params = dict(eta=0.05, max_depth=4, min_child_weight=20, subsample=0.8, base_score=0.0,
              seed=SEED, nthread=1, disable_default_eval_metric=1)
booster = xgb.train(params, mats["train"], num_boost_round=300, obj=asym_objective,
                    custom_metric=asym_cost, maximize=False,
                    evals=[(mats["train"], "train"), (mats["val"], "val")],
                    early_stopping_rounds=30, verbose_eval=25)

pred = booster.predict(mats["test"], iteration_range=(0, booster.best_iteration + 1))
y = test["demand"].to_numpy()
print("best iteration", booster.best_iteration)
print("test cost            %.2f" % asym_cost(pred, y=y)[1])
print("mean signed error    %.2f" % np.mean(pred - y))
print("cost of lag-1        %.2f" % asym_cost(test["lag1"].to_numpy(), y=y)[1])
plain = xgb.XGBRegressor(n_estimators=150, learning_rate=0.05, max_depth=4, min_child_weight=20, n_jobs=1,
                         subsample=0.8, random_state=SEED)
plain.fit(train[features], train["demand"])
print("cost of plain squared %.2f" % asym_cost(plain.predict(test[features]), y=y)[1])
