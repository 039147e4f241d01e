"""Safety stock: forecast the 90% quantile of daily demand per shop."""
import argparse
import numpy as np
import pandas as pd
import xgboost as xgb

parser = argparse.ArgumentParser()
parser.add_argument("--alpha", type=float, default=0.9)
parser.add_argument("--rounds", type=int, default=150)
parser.add_argument("--days", type=int, default=1000)
parser.add_argument("--shops", type=int, default=40)
args = parser.parse_args()

rng = np.random.default_rng(2024)


def simulate(days, shops):
    rows = []
    base = rng.gamma(5, 8, shops)
    for s in range(shops):
        promo = rng.random(days) < 0.12
        dow = np.arange(days) % 7
        lam = base[s] * (1 + 0.35 * (dow >= 5)) * (1 + 0.6 * promo)
        lam = lam * (1 + 0.2 * np.sin(2 * np.pi * np.arange(days) / 365))
        # over-dispersed demand
        qty = rng.poisson(lam * rng.gamma(6, 1 / 6, days))
        rows.append(pd.DataFrame({"shop": s, "day": np.arange(days), "dow": dow,
                                  "promo": promo.astype(int), "qty": qty}))
    return pd.concat(rows, ignore_index=True)


df = simulate(args.days, args.shops)
df = df.sort_values(["shop", "day"])
g = df.groupby("shop")["qty"]
for lag in (7, 14, 28):
    df[f"lag{lag}"] = g.shift(lag)
df["roll28"] = g.transform(lambda s: s.shift(7).rolling(28).mean())
df = df.dropna().reset_index(drop=True)

features = [c for c in df.columns if c not in ("qty", "day")]
cut, cut2 = int(args.days * 0.7), int(args.days * 0.85)
tr = df[df.day < cut]
va = df[(df.day >= cut) & (df.day < cut2)]
te = df[df.day >= cut2]

dtrain = xgb.QuantileDMatrix(tr[features], tr.qty)
dvalid = xgb.QuantileDMatrix(va[features], va.qty, ref=dtrain)
dtest = xgb.DMatrix(te[features])

params = {
    "objective": "reg:quantileerror",
    "quantile_alpha": args.alpha,
    "tree_method": "hist",
    "max_depth": 4,
    "learning_rate": 0.04,
    "min_child_weight": 20,
    "subsample": 0.8,
    "seed": 1,
    "nthread": 1,
}
booster = xgb.train(params, dtrain, num_boost_round=args.rounds,
                    evals=[(dtrain, "train"), (dvalid, "valid")], verbose_eval=50)

pred = booster.predict(dtest)


def pinball(y, q, a):
    e = y - q
    return np.mean(np.maximum(a * e, (a - 1) * e))


print("mean demand", te.qty.mean(), "mean prediction", pred.mean())
print("share of days covered:", np.mean(te.qty.values <= pred))
print("pinball model   :", pinball(te.qty.values, pred, args.alpha))
per_shop = tr.groupby("shop").qty.quantile(args.alpha)
naive = te.shop.map(per_shop).values
print("pinball per-shop:", pinball(te.qty.values, naive, args.alpha))
