# Prediction interval for delivery times: one booster per quantile.
import numpy as np
import pandas as pd
import xgboost as xgb

rng = np.random.default_rng(5)
n = 6000
df = pd.DataFrame({
    "distance_km": rng.gamma(2.0, 4.0, n),
    "hour": rng.integers(7, 23, n),
    "items": rng.poisson(3, n) + 1,
    "rain": rng.random(n) < 0.25,
    "courier_years": rng.exponential(2.0, n),
})
rush = df["hour"].isin([8, 9, 17, 18, 19])
mean = 10 + 2.6 * df["distance_km"] * (1 + 0.35 * rush) + 0.8 * df["items"] + 6 * df["rain"]
spread = 2 + 0.5 * df["distance_km"] + 3 * df["rain"]
df["minutes"] = mean - 1.2 * np.minimum(df["courier_years"], 4) + spread * rng.normal(size=n)
df["rain"] = df["rain"].astype(int)

features = ["distance_km", "hour", "items", "rain", "courier_years"]
train, valid, test = df.iloc[:4000], df.iloc[4000:5000], df.iloc[5000:]

dtrain = xgb.QuantileDMatrix(train[features], train["minutes"])
dvalid = xgb.QuantileDMatrix(valid[features], valid["minutes"], ref=dtrain)
dtest = xgb.DMatrix(test[features])

quantiles = [0.1, 0.5, 0.9]
predictions = {}
for q in quantiles:
    params = {
        "objective": "reg:quantileerror",
        "quantile_alpha": q,
        "tree_method": "hist",
        "max_depth": 4,
        "eta": 0.08,
        "min_child_weight": 10,
        "subsample": 0.8,
        "seed": 1,
        "nthread": 1,
    }
    booster = xgb.train(params, dtrain, num_boost_round=600,
                        evals=[(dtrain, "train"), (dvalid, "valid")],
                        early_stopping_rounds=30, verbose_eval=50)
    best = booster.best_iteration
    predictions[q] = booster.predict(dtest, iteration_range=(0, best + 1))
    print(f"q={q}: best round {best}, valid pinball {booster.best_score:.4f}")

truth = test["minutes"].to_numpy()
for q in quantiles:
    print(f"share below q{int(q * 100)}: {(truth <= predictions[q]).mean():.3f}")
inside = (truth >= predictions[0.1]) & (truth <= predictions[0.9])
print(f"coverage of the 80% interval: {inside.mean():.3f}")
print(f"median abs. error of the median model: {np.median(np.abs(truth - predictions[0.5])):.2f} min")
print(f"same for the constant median: {np.median(np.abs(truth - train['minutes'].median())):.2f} min")
