# Used car prices with CatBoost, categorical columns left as text.
import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split

SEED = 20
rng = np.random.default_rng(SEED)
n = 40000
brands = {"Alba": 9.9, "Brix": 9.6, "Corso": 10.3, "Dune": 9.4, "Elan": 10.6, "Fero": 9.8}
fuels = {"petrol": 0.0, "diesel": 0.05, "hybrid": 0.15, "electric": 0.25}
df = pd.DataFrame({
    "brand": rng.choice(list(brands), n),
    "fuel": rng.choice(list(fuels), n, p=[0.5, 0.25, 0.15, 0.1]),
    "age": rng.integers(0, 16, n),
    "owners": rng.integers(1, 5, n),
})
df["km"] = (df.age * rng.normal(14000, 4000, n)).clip(0).round()
logp = (df.brand.map(brands) + df.fuel.map(fuels) - 0.11 * df.age - 2.0e-6 * df.km - 0.03 * df.owners
        - 0.02 * df.age * (df.fuel == "electric") + rng.normal(0, 0.08, n))
df["price"] = np.exp(logp)

X, y = df.drop(columns="price"), np.log(df["price"])
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, random_state=SEED)
cats = ["brand", "fuel"]
model = CatBoostRegressor(iterations=1500, learning_rate=0.05, depth=6, loss_function="RMSE", random_seed=SEED,
                          thread_count=1, early_stopping_rounds=60, allow_writing_files=False, verbose=200)
model.fit(Pool(X_tr, y_tr, cats), eval_set=Pool(X_va, y_va, cats))
pred = model.predict(X_te)
print("best iteration", model.get_best_iteration())
print("importance", dict(zip(X.columns, model.get_feature_importance().round(1))))
print("test R2 (log price): %.4f" % r2_score(y_te, pred))
print("test MAE in money: %.0f, mean price %.0f" % (mean_absolute_error(np.exp(y_te), np.exp(pred)), np.exp(y_te).mean()))
