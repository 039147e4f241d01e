# Delivery-time model with CatBoost. Orders come as two dumps: history and last month.
import numpy as np
import pandas as pd
from catboost import CatBoostRegressor
from sklearn.metrics import mean_absolute_error, r2_score

SEED = 11
rng = np.random.default_rng(SEED)

cities = [f"city_{i:02d}" for i in range(40)]
couriers = [f"cr{i}" for i in range(25)]
city_effect = dict(zip(cities, rng.normal(0, 8, 40)))
courier_effect = dict(zip(couriers, rng.normal(0, 4, 25)))


def make_orders(n, seed):
    r = np.random.default_rng(seed)
    df = pd.DataFrame({
        "city": r.choice(cities, n),
        "courier": r.choice(couriers, n),
        "distance_km": r.gamma(2.0, 2.5, n),
        "items": r.integers(1, 9, n),
        "hour": r.integers(8, 23, n),
    })
    rush = ((df.hour > 17) & (df.hour < 20)).astype(float) * 6
    df["minutes"] = (
        20 + 2.2 * df.distance_km + 0.7 * df["items"] + rush
        + df.city.map(city_effect) + df.courier.map(courier_effect)
        + r.normal(0, 2.5, n)
    )
    return df


def prepare(df):
    out = df.copy()
    for col in ("city", "courier"):
        codes, _ = pd.factorize(out[col])
        out[col] = codes
    out["is_evening"] = (out.hour >= 18).astype(int)
    target = out.pop("minutes")
    return out, target


history = make_orders(6000, 1)
last_month = make_orders(1500, 2)

X_hist, y_hist = prepare(history)
X_test, y_test = prepare(last_month)

cut = int(len(X_hist) * 0.85)
X_train, y_train = X_hist[:cut], y_hist[:cut]
X_val, y_val = X_hist[cut:], y_hist[cut:]

model = CatBoostRegressor(
    iterations=900,
    learning_rate=0.08,
    depth=6,
    loss_function="RMSE",
    random_seed=SEED,
    thread_count=1,
    verbose=100,
)
model.fit(X_train, y_train, eval_set=(X_val, y_val), early_stopping_rounds=50)

for name, X, y in [("train", X_train, y_train), ("val", X_val, y_val), ("last month", X_test, y_test)]:
    p = model.predict(X)
    print(f"{name:>10}: MAE {mean_absolute_error(y, p):.3f}  R2 {r2_score(y, p):.3f}")

print(pd.Series(model.get_feature_importance(), index=X_train.columns).sort_values(ascending=False))
