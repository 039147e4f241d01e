import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import ColumnTransformer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

# fraud-like table, about 5 percent positives
rng = np.random.default_rng(8)
n = 50000
df = pd.DataFrame({
    "amount": rng.lognormal(3, 1.2, n),
    "hour": rng.integers(0, 24, n),
    "country": rng.choice(list("ABCDEFGH"), n),
    "device": rng.choice(["ios", "android", "web"], n),
    "n_prev": rng.poisson(5, n).astype(float),
})
df.loc[rng.random(n) < 0.1, "n_prev"] = np.nan
score = (0.9 * np.log(df.amount) + 1.6 * df.country.isin(["C", "F"]) + 1.2 * df.hour.lt(6)
         - 0.25 * df.n_prev.fillna(3) + 0.9 * df.device.eq("web"))
y = (rng.random(n) < 1 / (1 + np.exp(-(1.6 * (score - score.mean()) - 5.2)))).astype(int)

X_fit, X_test, y_fit, y_test = train_test_split(df, y, test_size=0.25, stratify=y, random_state=0)
X_tr, X_va, y_tr, y_va = train_test_split(X_fit, y_fit, test_size=0.2, stratify=y_fit, random_state=0)

pre = ColumnTransformer([
    ("cat", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["country", "device"]),
], remainder="passthrough")
clf = xgb.XGBClassifier(
    n_estimators=900, learning_rate=0.015, max_depth=4, min_child_weight=5,
    subsample=0.8, colsample_bytree=0.8,
    scale_pos_weight=(y_tr == 0).sum() / (y_tr == 1).sum(),
    eval_metric="aucpr", early_stopping_rounds=50, n_jobs=1, random_state=0)
pipe = Pipeline([("pre", pre), ("clf", clf)])

pre.fit(X_tr)
pipe.fit(X_tr, y_tr, clf__eval_set=[(pre.transform(X_va), y_va)], clf__verbose=25)

p = pipe.predict_proba(X_test)[:, 1]
print("positives", y.mean(), "best iteration", clf.best_iteration)
print("ROC AUC %.4f  AP %.4f" % (roc_auc_score(y_test, p), average_precision_score(y_test, p)))
print("oracle AUC %.4f" % roc_auc_score(y_test, score[X_test.index]))
