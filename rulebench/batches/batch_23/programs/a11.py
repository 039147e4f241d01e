"""Used-car prices with LightGBM; the test file arrives separately from the training file."""
import argparse

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_error, r2_score

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=300)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--seed", type=int, default=9)
args = parser.parse_args()

MODELS = [f"{brand}_{m}" for brand in ("audi", "bmw", "fiat", "ford", "kia", "opel", "seat", "volvo")
          for m in ("s", "m", "l")]
FUELS = ["diesel", "electric", "hybrid", "petrol"]
base_value = dict(zip(MODELS, np.random.default_rng(4).uniform(9, 42, len(MODELS))))


def read_cars(n, seed, models, fuels):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({
        "model": rng.choice(models, n),
        "fuel": rng.choice(fuels, n),
        "age": rng.uniform(0, 15, n),
        "km": rng.gamma(3, 30, n),
    })
    fuel_factor = df["fuel"].map({"petrol": 1.0, "diesel": 0.92, "hybrid": 1.15, "electric": 1.3})
    price = df["model"].map(base_value) * fuel_factor * np.exp(-0.09 * df["age"] - 0.002 * df["km"])
    df["price"] = price * np.exp(0.06 * rng.normal(size=n))
    return df


train_df = read_cars(6000, args.seed, MODELS, FUELS)
# the dealer that sends the test file does not sell audi
test_df = read_cars(1200, args.seed + 1, MODELS[3:], FUELS)


def prepare(df):
    out = df.drop(columns="price").copy()
    for col in ("model", "fuel"):
        out[col] = pd.Categorical(df[col]).codes
    return out, np.log(df["price"])


X, y = prepare(train_df)
X_test, y_test = prepare(test_df)

order = np.random.default_rng(args.seed).permutation(len(X))
tr, va = order[:5000], order[5000:]
train_set = lgb.Dataset(X.iloc[tr], y.iloc[tr], categorical_feature=["model", "fuel"])
valid_set = lgb.Dataset(X.iloc[va], y.iloc[va], reference=train_set)

params = {"objective": "regression", "metric": "l1", "learning_rate": args.lr, "num_leaves": 31,
          "min_data_in_leaf": 20, "cat_smooth": 5, "num_threads": 1, "verbosity": -1, "seed": args.seed}
booster = lgb.train(params, train_set, num_boost_round=args.rounds, valid_sets=[train_set, valid_set],
                    valid_names=["train", "valid"],
                    callbacks=[lgb.early_stopping(30, verbose=False), lgb.log_evaluation(50)])

pred = booster.predict(X_test, num_iteration=booster.best_iteration)
price, price_hat = np.exp(y_test), np.exp(pred)
print(f"best iteration {booster.best_iteration}")
print(f"test MAE {mean_absolute_error(price, price_hat):.3f} thousand")
print(f"test R2 {r2_score(price, price_hat):.3f}")
