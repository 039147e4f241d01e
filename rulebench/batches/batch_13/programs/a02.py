"""Daily demand one day ahead: lag features, pipeline, gradient boosting."""
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBRegressor

rng = np.random.default_rng(8)
days = pd.date_range("2019-01-01", periods=1400, freq="D")
weekly = np.array([0, 3, 4, 6, 14, 22, 10])[days.day_of_week]
ar = np.zeros(len(days))
for t in range(1, len(days)):
    ar[t] = 0.8 * ar[t - 1] + rng.normal(0, 3)
demand = 100 + weekly + 10 * np.sin(2 * np.pi * days.day_of_year / 365) + ar

df = pd.DataFrame({"demand": demand, "dow": days.day_name(), "month": days.month}, index=days)
for lag in (1, 2, 3, 7, 14):
    df[f"lag{lag}"] = df["demand"].shift(lag)
df["mean7"] = df["demand"].shift(1).rolling(7).mean()
df = df.dropna()

X, y = df.drop(columns="demand"), df["demand"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, shuffle=False)

prep = ColumnTransformer(
    [("dow", OneHotEncoder(handle_unknown="ignore"), ["dow"])], remainder="passthrough")
model = Pipeline([
    ("prep", prep),
    ("xgb", XGBRegressor(n_estimators=300, learning_rate=0.03, max_depth=3,
                         subsample=0.8, n_jobs=1, random_state=0)),
])
model.fit(X_train, y_train)

print("test MAE          %.3f" % mean_absolute_error(y_test, model.predict(X_test)))
print("yesterday's value %.3f" % mean_absolute_error(y_test, X_test["lag1"]))
print("last week's value %.3f" % mean_absolute_error(y_test, X_test["lag7"]))
