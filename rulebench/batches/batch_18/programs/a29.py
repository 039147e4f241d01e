import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import r2_score, mean_absolute_error
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(5)
n = 4000
df = pd.DataFrame({
    "area": rng.gamma(9, 12, n),
    "rooms": rng.integers(1, 7, n),
    "age": rng.integers(0, 80, n),
    "dist_center": rng.exponential(6, n),
    "floor": rng.integers(0, 12, n),
    "district": rng.choice(["north", "south", "east", "west"], n),
})
base = 2.1 * df.area + 9 * df.rooms - 0.6 * df.age - 4 * df.dist_center + 30 * (df.district == "north")
df["price"] = np.exp(4 + base / 160 + rng.normal(0, 0.25, n))

# price is skewed, work on the log scale
df["log_price"] = np.log1p(df["price"])
df["area_per_room"] = df["area"] / df["rooms"]
df = pd.get_dummies(df, columns=["district"], dtype=float)

y = df["log_price"]
X = df.drop(columns=["log_price"])

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.2, random_state=0)

model = xgb.XGBRegressor(n_estimators=400, learning_rate=0.05, max_depth=5, subsample=0.8,
                         colsample_bytree=0.8, early_stopping_rounds=30, n_jobs=1, random_state=0)
model.fit(X_train, y_train, eval_set=[(X_train, y_train), (X_val, y_val)], verbose=50)

pred = model.predict(X_test)
print("R2 (log)  %.4f" % r2_score(y_test, pred))
print("MAE price %.1f" % mean_absolute_error(np.expm1(y_test), np.expm1(pred)))
imp = pd.Series(model.feature_importances_, X.columns).sort_values(ascending=False)
print(imp.head(6))
