#!/usr/bin/env python
"""Prediction intervals with LightGBM quantile regression."""
import argparse

import lightgbm as lgb
import numpy as np
import pandas as pd


def simulate(n_days=900, seed=0):
    rng = np.random.default_rng(seed)
    dates = pd.date_range("2021-01-01", periods=n_days * 6, freq="4h")
    dow, hour, doy = dates.dayofweek.values, dates.hour.values, dates.dayofyear.values
    temp = 12 + 9 * np.sin(2 * np.pi * (doy - 100) / 365) + rng.normal(0, 2, len(dates))
    level = 100 + 15 * np.cos(2 * np.pi * hour / 24) - 12 * (dow >= 5) + 0.15 * (temp - 15) ** 2
    spread = 2 + 3 * (hour >= 12)
    return pd.DataFrame({"date": dates, "dow": dow, "hour": hour, "temp": temp,
                         "demand": level + spread * rng.standard_normal(len(dates))})


def add_features(df):
    df = df.copy()
    df["lag_1d"] = df["demand"].shift(6)
    df["lag_7d"] = df["demand"].shift(42)
    df["roll_7d"] = df["demand"].shift(6).rolling(42).mean()
    return df.dropna()


def pinball(y, q_hat, alpha):
    d = y - q_hat
    return np.mean(np.maximum(alpha * d, (alpha - 1) * d))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=400)
    ap.add_argument("--lr", type=float, default=0.1)
    args = ap.parse_args()

    df = add_features(simulate())
    features = ["dow", "hour", "temp", "lag_1d", "lag_7d", "roll_7d"]
    a, b = int(len(df) * 0.7), int(len(df) * 0.85)
    train, val, test = df[:a], df[a:b], df[b:]

    preds = {}
    for alpha in (0.1, 0.5, 0.9):
        model = lgb.LGBMRegressor(objective="quantile", alpha=alpha, n_estimators=args.rounds,
                                  learning_rate=args.lr, num_leaves=8, min_child_samples=150,
                                  random_state=0, n_jobs=1, verbosity=-1)
        model.fit(train[features], train["demand"],
                  eval_set=[(val[features], val["demand"])],
                  callbacks=[lgb.early_stopping(40, verbose=False), lgb.log_evaluation(50)])
        preds[alpha] = model.predict(test[features])
        print(f"alpha {alpha}: trees {model.best_iteration_}, "
              f"test pinball {pinball(test['demand'].values, preds[alpha], alpha):.3f}")

    y = test["demand"].values
    inside = (y >= preds[0.1]) & (y <= preds[0.9])
    print(f"median MAE {np.abs(y - preds[0.5]).mean():.3f}")
    print(f"80% interval coverage {inside.mean():.3f}, width {np.mean(preds[0.9] - preds[0.1]):.2f}")


if __name__ == "__main__":
    main()
