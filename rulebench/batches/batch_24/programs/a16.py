# Predict next-day portfolio return (fraction) from a handful of signals
import numpy as np
import pandas as pd
import xgboost as xgb

rng = np.random.default_rng(10)
n = 6000

signals = pd.DataFrame({
    "momentum": rng.normal(size=n),
    "value": rng.normal(size=n),
    "carry": rng.normal(size=n),
    "vol": rng.gamma(3, 0.3, n),
    "spread": rng.normal(size=n) * 0.5,
    "weekday": rng.integers(0, 5, n),
})
mu = (0.004 * np.tanh(signals.momentum) + 0.003 * signals.carry * (signals.vol < 0.9)
      - 0.002 * signals.value ** 2 + 0.002 * signals.spread)
ret = mu + rng.normal(0, 0.004, n)

split1, split2 = 4000, 5000
X_train, y_train = signals[:split1], ret[:split1]
X_valid, y_valid = signals[split1:split2], ret[split1:split2]
X_test, y_test = signals[split2:], ret[split2:]

model = xgb.XGBRegressor(
    n_estimators=300,
    learning_rate=0.05,
    max_depth=4,
    min_child_weight=5,
    subsample=0.8,
    colsample_bytree=0.8,
    gamma=1.0,
    reg_lambda=1.0,
    tree_method="hist",
    eval_metric="rmse",
    random_state=0,
    n_jobs=1,
)
model.fit(X_train, y_train, eval_set=[(X_train, y_train), (X_valid, y_valid)], verbose=30)


def describe(name, frame, target):
    pred = model.predict(frame)
    rmse = np.sqrt(np.mean((pred - target) ** 2))
    r2 = 1 - np.mean((pred - target) ** 2) / np.var(target)
    ic = np.corrcoef(pred + rng.normal(0, 1e-12, len(pred)), target)[0, 1]
    print(f"{name:6s} rmse {rmse:.5f}  r2 {r2:.3f}  ic {ic:.3f}")
    return pred


describe("train", X_train, y_train)
describe("valid", X_valid, y_valid)
pred = describe("test", X_test, y_test)

order = np.argsort(pred)
k = len(order) // 5
print("mean return of lowest fifth ", y_test.values[order[:k]].mean())
print("mean return of highest fifth", y_test.values[order[-k:]].mean())
print("forecast range", pred.min(), pred.max())
