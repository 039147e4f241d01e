"""Time to failure of pumps, accelerated failure time model with xgboost.

Rows: one pump each, with the days in service and whether it broke or was
still running when the study closed.
"""
import argparse

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "load": rng.uniform(0.2, 1.0, n),
        "temp": rng.normal(60, 12, n),
        "age": rng.integers(0, 15, n),
        "maker": rng.choice(["A", "B", "C"], n),
    })
    mu = (6.2 - 1.4 * df.load - 0.02 * (df.temp - 60) - 0.05 * df.age
          + df.maker.map({"A": 0.5, "B": 0.0, "C": -0.3}))
    df["true_median"] = np.exp(mu)
    life = np.exp(mu + rng.normal(0, 0.4, n))
    closed = rng.uniform(20, 350, n)
    df["days"] = np.minimum(life, closed)
    df["broke"] = (life <= closed).astype(int)
    return df


def preprocess():
    return Pipeline([("cols", ColumnTransformer([
        ("num", StandardScaler(), ["load", "temp", "age"]),
        ("cat", OneHotEncoder(), ["maker"]),
    ]))])


def to_dmatrix(X, df):
    d = xgb.DMatrix(X)
    lower = df["days"].to_numpy()
    upper = df["days"].to_numpy()
    d.set_float_info("label_lower_bound", lower)
    d.set_float_info("label_upper_bound", upper)
    return d


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=4000)
    ap.add_argument("--rounds", type=int, default=300)
    ap.add_argument("--depth", type=int, default=3)
    ap.add_argument("--eta", type=float, default=0.05)
    args = ap.parse_args()

    df = simulate(args.n, seed=4)
    print("share that broke: %.2f" % df.broke.mean())
    train, test = train_test_split(df, test_size=0.25, random_state=4)
    train, valid = train_test_split(train, test_size=0.2, random_state=5)

    prep = preprocess().fit(train)
    dtrain = to_dmatrix(prep.transform(train), train)
    dvalid = to_dmatrix(prep.transform(valid), valid)
    dtest = to_dmatrix(prep.transform(test), test)

    params = {
        "objective": "survival:aft",
        "eval_metric": "aft-nloglik",
        "aft_loss_distribution": "normal",
        "aft_loss_distribution_scale": 0.5,
        "max_depth": args.depth,
        "eta": args.eta,
        "nthread": 1,
        "seed": 0,
    }
    booster = xgb.train(params, dtrain, num_boost_round=args.rounds,
                        evals=[(dtrain, "train"), (dvalid, "valid")],
                        early_stopping_rounds=25, verbose_eval=50)

    pred = booster.predict(dtest)
    ratio = pred / test["true_median"].to_numpy()
    print("predicted median life / actual median life (quartiles):",
          np.round(np.quantile(ratio, [0.25, 0.5, 0.75]), 3))
    print("mean absolute log error: %.3f" % np.abs(np.log(ratio)).mean())


if __name__ == "__main__":
    main()
