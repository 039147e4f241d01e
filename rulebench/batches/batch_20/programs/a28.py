# Delivery-time intervals: three quantile models with LightGBM
import numpy as np
import pandas as pd
import lightgbm as lgb
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(23)
n = 6000
df = pd.DataFrame({
    "distance": rng.gamma(2.0, 3.0, n),
    "hour": rng.integers(8, 23, n),
    "rain": rng.random(n) < 0.25,
    "courier": rng.choice(["bike", "car", "scooter"], n),
    "items": rng.poisson(3, n) + 1,
})
speed = df.courier.map({"bike": 0.22, "car": 0.35, "scooter": 0.3})
rush = ((df.hour >= 18) & (df.hour <= 20)).astype(float)
mean = 8 + df.distance / speed + 1.2 * df["items"] + 6 * rush + 5 * df.rain
df["minutes"] = mean + rng.gamma(2.0, 1.0 + 0.08 * mean, n)
df["courier"] = df["courier"].astype("category")

train, test = train_test_split(df, test_size=0.25, random_state=23)
fit, val = train_test_split(train, test_size=0.2, random_state=23)
features = ["distance", "hour", "rain", "courier", "items"]


def pinball(y, q, alpha):
    diff = y - q
    return np.mean(np.maximum(alpha * diff, (alpha - 1) * diff))


predictions = {}
for alpha in (0.1, 0.5, 0.9):
    model = lgb.LGBMRegressor(
        objective="quantile", alpha=alpha, n_estimators=600, learning_rate=0.06,
        num_leaves=15, min_child_samples=40, random_state=23, n_jobs=1, verbosity=-1,
    )
    model.fit(
        fit[features], fit["minutes"],
        eval_set=[(val[features], val["minutes"])],
        callbacks=[lgb.early_stopping(40, verbose=False), lgb.log_evaluation(100)],
    )
    q = model.predict(test[features])
    predictions[alpha] = q
    const = np.quantile(train["minutes"], alpha)
    print(f"alpha {alpha}: best iteration {model.best_iteration_}, "
          f"pinball {pinball(test['minutes'], q, alpha):.3f} "
          f"(constant {pinball(test['minutes'], const, alpha):.3f}), "
          f"share below {np.mean(test['minutes'] <= q):.3f}")

inside = (test["minutes"] > predictions[0.1]) & (test["minutes"] <= predictions[0.9])
print("coverage of the 80%% interval: %.3f" % inside.mean())
