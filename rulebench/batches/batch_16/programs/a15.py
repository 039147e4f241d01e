import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

# Churn prediction with many categorical columns
rng = np.random.default_rng(0)
n = 6000
df = pd.DataFrame({
    "shop": rng.integers(0, 1500, n),
    "agent": rng.integers(0, 900, n),
    "plan": rng.integers(0, 6, n),
    "age": rng.normal(45, 12, n),
    "months": rng.exponential(20, n),
    "calls": rng.poisson(2, n),
})
z = 0.5 * (df["plan"] - 2.5) / 1.7 - 0.03 * (df["months"] - 20) + 0.35 * (df["calls"] - 2)
df["churn"] = (rng.random(n) < 1 / (1 + np.exp(-z + 0.8))).astype(int)

cat_cols = ["shop", "agent", "plan"]


def fit_encoding(frame, col, smooth=1.0):
    prior = frame["churn"].mean()
    g = frame.groupby(col)["churn"].agg(["sum", "count"])
    return (g["sum"] + smooth * prior) / (g["count"] + smooth), prior


for c in cat_cols:
    m, prior = fit_encoding(df, c)
    df[c + "_te"] = df[c].map(m).fillna(prior)

train, test = train_test_split(df, test_size=0.25, random_state=0, stratify=df["churn"])
features = [c + "_te" for c in cat_cols] + ["age", "months", "calls"]

model = xgb.XGBClassifier(n_estimators=200, max_depth=4, learning_rate=0.05, subsample=0.8,
                          eval_metric="auc", n_jobs=1)
model.fit(train[features], train["churn"],
          eval_set=[(train[features], train["churn"]), (test[features], test["churn"])], verbose=50)

print(pd.Series(model.feature_importances_, features).sort_values(ascending=False))
print("test AUC", roc_auc_score(test["churn"], model.predict_proba(test[features])[:, 1]))
