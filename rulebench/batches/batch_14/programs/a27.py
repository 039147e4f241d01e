import numpy as np
import xgboost as xgb
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
import pandas as pd

# delivery times: we want an interval, not just a point
rng = np.random.default_rng(0)
n = 5000
df = pd.DataFrame({"km": rng.gamma(2, 3, n), "hour": rng.integers(8, 22, n),
                   "city": rng.choice(["A", "B", "C"], n)})
base = 10 + 2.5 * df.km + 6 * df.hour.isin([12, 13, 18, 19]) + df.city.map({"A": 0, "B": 4, "C": 9})
y = base + rng.gamma(2, 1 + 0.3 * df.km)
tr, te, ytr, yte = train_test_split(df, y, random_state=0)

models = {}
for q in (0.1, 0.5, 0.9):
    pipe = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city"]), remainder="passthrough"),
        xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=q, n_estimators=150,
                         learning_rate=0.1, max_depth=4, min_child_weight=10, n_jobs=1),
    )
    models[q] = pipe.fit(tr, ytr)

p = {q: m.predict(te) for q, m in models.items()}
for q in p:
    print(f"q={q}: share below {np.mean(yte < p[q]):.3f}")
print("80% interval coverage", np.mean((yte > p[0.1]) & (yte < p[0.9])), "mean width", np.mean(p[0.9] - p[0.1]))
