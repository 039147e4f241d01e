import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split

SEED = 2024
rng = np.random.default_rng(SEED)
n = 20000

df = pd.DataFrame({
    "city": rng.choice(["Lyon", "Porto", "Graz", "Gent", "Turku"], n, p=[.3, .25, .2, .15, .1]),
    "kind": rng.choice(["flat", "house", "studio"], n),
    "area": rng.gamma(6, 14, n).round(1),
    "year": rng.integers(1920, 2024, n),
    "floor": rng.integers(0, 9, n),
    "dist_km": rng.exponential(4, n).round(2),
})
city_price = {"Lyon": 4.2, "Porto": 3.1, "Graz": 3.6, "Gent": 3.3, "Turku": 2.4}
price = (df["area"] * df["city"].map(city_price) * np.where(df["kind"] == "house", 1.2, 1.0)
         * np.exp(-0.04 * df["dist_km"]) * (1 + 0.002 * (df["year"] - 1970)) * rng.lognormal(0, 0.12, n))

X_train, X_test, y_train, y_test = train_test_split(df, price, test_size=0.25, random_state=SEED)
X_fit, X_val, y_fit, y_val = train_test_split(X_train, y_train, test_size=0.2, random_state=SEED)

cat_features = ["city", "kind"]
model = CatBoostRegressor(
    iterations=2000,
    learning_rate=0.03,
    depth=6,
    loss_function="RMSE",
    random_seed=SEED,
    thread_count=1,
    allow_writing_files=False,
    verbose=200,
)
model.fit(Pool(X_fit, y_fit, cat_features), eval_set=Pool(X_val, y_val, cat_features), early_stopping_rounds=60)

pred = model.predict(X_test)
for name, imp in sorted(zip(df.columns, model.get_feature_importance()), key=lambda t: -t[1]):
    print(f"{name:8s} {imp:6.2f}")
print("test R2 %.4f, MAE %.2f, MAE of the median %.2f" % (
    r2_score(y_test, pred), mean_absolute_error(y_test, pred), np.abs(y_test - y_train.median()).mean()))
