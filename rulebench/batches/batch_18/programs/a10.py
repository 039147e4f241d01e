import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

rng = np.random.default_rng(8)
n = 6000
df = pd.DataFrame({
    "tenure": rng.integers(0, 72, n).astype(float),
    "monthly": rng.normal(65, 25, n).clip(15),
    "calls": rng.poisson(1.5, n).astype(float),
    "plan": rng.choice(["basic", "plus", "pro"], n),
    "contract": rng.choice(["month", "year", "two"], n, p=[0.5, 0.3, 0.2]),
})
logit = -3.6 - 0.03 * df.tenure + 0.02 * (df.monthly - 65) + 0.7 * df.calls + 1.2 * (df.contract == "month")
y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
df.loc[rng.random(n) < 0.1, "monthly"] = np.nan

X_train, X_test, y_train, y_test = train_test_split(df, y, test_size=0.25, stratify=y, random_state=8)

prep = ColumnTransformer([
    ("num", SimpleImputer(strategy="median", add_indicator=True), ["tenure", "monthly", "calls"]),
    ("cat", OneHotEncoder(handle_unknown="ignore"), ["plan", "contract"]),
])
clf = xgb.XGBClassifier(n_estimators=200, learning_rate=0.04, max_depth=3, subsample=0.8, min_child_weight=5,
                        scale_pos_weight=(y_train == 0).sum() / (y_train == 1).sum(),
                        eval_metric="aucpr", n_jobs=1, random_state=8)
pipe = Pipeline([("prep", prep), ("clf", clf)])
pipe.fit(X_train, y_train)

p = pipe.predict_proba(X_test)[:, 1]
print("churn rate %.3f" % y_test.mean())
print("ROC AUC %.3f  average precision %.3f" % (roc_auc_score(y_test, p), average_precision_score(y_test, p)))
