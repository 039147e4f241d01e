# Claim-count model: Poisson regression with XGBoost and our own objective
# (we need it because exposure enters in a non-standard way).
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(17)
n = 30000
df = pd.DataFrame({
    "age": rng.integers(18, 85, n),
    "power": rng.normal(90, 25, n).clip(40, 200),
    "urban": rng.integers(0, 2, n),
    "bonus": rng.uniform(50, 150, n),
    "km": rng.gamma(4, 3, n),
})
rate = np.exp(
    0.2
    + 0.6 * (df.age < 25) - 0.3 * (df.age > 60)
    + 0.006 * (df.power - 90)
    + 0.4 * df.urban
    + 0.01 * (df.bonus - 100)
    + 0.03 * (df.km - 12)
)
df["claims"] = rng.poisson(rate)
print(df.describe().T[["mean", "min", "max"]])

train, test = train_test_split(df, test_size=0.25, random_state=17)
features = ["age", "power", "urban", "bonus", "km"]
dtrain = xgb.DMatrix(train[features], label=train["claims"])
dtest = xgb.DMatrix(test[features], label=test["claims"])


def poisson_objective(margin, dmat):
    y = dmat.get_label()
    mu = np.exp(np.clip(margin, -10, 10))
    grad = y - mu
    hess = mu
    return grad, hess


def poisson_deviance(margin, dmat):
    y = dmat.get_label()
    mu = np.exp(np.clip(margin, -10, 10))
    ratio = np.where(y > 0, y * np.log(np.maximum(y, 1e-9) / mu), 0.0)
    return "deviance", float(2 * np.mean(ratio - (y - mu)))


params = {
    "max_depth": 4,
    "eta": 0.1,
    "subsample": 0.8,
    "min_child_weight": 1,
    "base_score": 0.0,
    "disable_default_eval_metric": True,
    "seed": 17,
    "nthread": 1,
}
booster = xgb.train(
    params, dtrain, num_boost_round=300,
    obj=poisson_objective, custom_metric=poisson_deviance,
    evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=30,
)

mu = np.exp(np.clip(booster.predict(dtest, output_margin=True), -10, 10))
print("mean predicted claims %.3f, observed %.3f" % (mu.mean(), test["claims"].mean()))
print("test deviance %.4f" % poisson_deviance(np.log(mu), dtest)[1])
base = np.full(len(test), np.log(train["claims"].mean()))
print("deviance of a constant prediction %.4f" % poisson_deviance(base, dtest)[1])
