"""House-price style regression with XGBoost, early stopping on a validation part."""
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split

RANDOM_STATE = 2024
rng = np.random.default_rng(RANDOM_STATE)

n = 50000
df = pd.DataFrame({
    "area": rng.gamma(6, 18, n),
    "rooms": rng.integers(1, 8, n),
    "age": rng.uniform(0, 100, n),
    "distance": rng.exponential(6, n),
    "floor": rng.integers(0, 12, n),
    "garden": rng.random(n) < 0.3,
})
df["district"] = pd.Categorical(rng.choice(list("ABCDEFG"), n))
level = dict(zip("ABCDEFG", [0.8, 1.0, 1.3, 0.9, 1.6, 1.1, 0.7]))
df["price"] = (df["area"] * 30 * df["district"].astype(str).map(level) * np.exp(-df["distance"] / 25)
               + 150 * df["rooms"] - 6 * df["age"] * (df["age"] < 70) + 300 * df["garden"]
               + rng.normal(0, 250, n))

X, y = df.drop(columns="price"), df["price"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=RANDOM_STATE)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.2, random_state=RANDOM_STATE)

model = xgb.XGBRegressor(
    n_estimators=2500, learning_rate=0.02, max_depth=5, subsample=0.8, colsample_bytree=0.8,
    tree_method="hist", enable_categorical=True, early_stopping_rounds=50,
    n_jobs=1, random_state=RANDOM_STATE,
)
model.fit(X_train, y_train, eval_set=[(X_train, y_train), (X_val, y_val)], verbose=100)
pred = model.predict(X_test)
print("best iteration:", model.best_iteration)
print("test MAE %.1f  R2 %.4f" % (mean_absolute_error(y_test, pred), r2_score(y_test, pred)))
