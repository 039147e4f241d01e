import numpy as np
import xgboost as xgb

SEED = 61
rng = np.random.default_rng(SEED)


def trips(n):
    """Travel times of deliveries: skewed, wider at rush hour."""
    km = rng.gamma(3.0, 2.5, n)
    hour = rng.uniform(6, 22, n)
    rain = (rng.random(n) < 0.3).astype(float)
    stops = rng.integers(0, 6, n)
    rush = np.exp(-((hour - 8) ** 2) / 3) + np.exp(-((hour - 17.5) ** 2) / 4)
    base = 4 + 2.2 * km + 3 * stops + 2 * rain * km / 5
    t = base * (1 + 0.4 * rush) + rng.gamma(2.0, 1.5 + 3 * rush, n)
    return np.column_stack([km, hour, rain, stops]), t


X_train, y_train = trips(6000)
X_valid, y_valid = trips(1500)
X_test, y_test = trips(2000)

QUANTILES = np.array([0.1, 0.5, 0.9])
dtrain = xgb.QuantileDMatrix(X_train, y_train)
dvalid = xgb.QuantileDMatrix(X_valid, y_valid, ref=dtrain)

params = {
    "objective": "reg:quantileerror",
    "quantile_alpha": QUANTILES,
    "tree_method": "hist",
    "multi_strategy": "one_output_per_tree",
    "learning_rate": 0.08,
    "max_depth": 5,
    "min_child_weight": 5,
    "subsample": 0.8,
    "seed": SEED,
    "nthread": 1,
}
history = {}
booster = xgb.train(
    params,
    dtrain,
    num_boost_round=250,
    evals=[(dtrain, "train"), (dvalid, "valid")],
    early_stopping_rounds=25,
    evals_result=history,
    verbose_eval=25,
)
print("best round", booster.best_iteration)

pred = booster.predict(xgb.DMatrix(X_test), iteration_range=(0, booster.best_iteration + 1))
pred = np.sort(pred, axis=1)


def pinball(y, q, alpha):
    d = y - q
    return np.mean(np.maximum(alpha * d, (alpha - 1) * d))


for j, a in enumerate(QUANTILES):
    const = np.quantile(y_train, a)
    print(
        f"q{a:.1f}: pinball {pinball(y_test, pred[:, j], a):.3f} "
        f"(constant {pinball(y_test, const, a):.3f})  below {np.mean(y_test <= pred[:, j]):.3f}"
    )
inside = np.mean((y_test >= pred[:, 0]) & (y_test <= pred[:, 2]))
print(f"80% interval covers {inside:.3f}, mean width {np.mean(pred[:, 2] - pred[:, 0]):.2f}")
