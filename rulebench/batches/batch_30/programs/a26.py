from catboost import CatBoostClassifier, Pool
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

rs = 5
rng = np.random.default_rng(rs)

n = 24000
df = pd.DataFrame({
    "city": rng.choice(["Lyon", "Graz", "Turin", "Bergen", "Porto"], n),
    "channel": rng.choice(["web", "phone", "shop"], n, p=[0.6, 0.15, 0.25]),
    "age": rng.integers(18, 85, n),
    "visits": rng.poisson(4, n),
    "basket": rng.gamma(2.0, 20.0, n),
})
city_eff = {"Lyon": 0.5, "Graz": -0.8, "Turin": 0.0, "Bergen": 1.2, "Porto": -0.5}
logit = (df.city.map(city_eff) + 1.5 * (df.channel == "shop") - 0.04 * (df.age - 45)
         + 0.5 * (df.visits - 4) + 0.02 * (df.basket - 40) * (df.channel == "web"))
df["bought"] = (rng.random(n) < 1 / (1 + np.exp(-1.6 * logit))).astype(int)

X, y = df.drop(columns="bought"), df.bought
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=rs, stratify=y)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, random_state=rs, stratify=y_tr)
cat = ["city", "channel"]

model = CatBoostClassifier(iterations=800, learning_rate=0.04, depth=5, eval_metric="AUC", random_seed=rs,
                           thread_count=1, allow_writing_files=False, verbose=100)
model.fit(Pool(X_tr, y_tr, cat_features=cat), eval_set=Pool(X_va, y_va, cat_features=cat), early_stopping_rounds=150)

p = model.predict_proba(X_te)[:, 1]
print("trees kept:", model.tree_count_)
for name, imp in sorted(zip(X.columns, model.get_feature_importance()), key=lambda z: -z[1]):
    print(f"  {name:8s} {imp:6.2f}")
print("test AUC %.4f, accuracy %.4f, majority %.4f" % (roc_auc_score(y_te, p), accuracy_score(y_te, p > 0.5), max(y_te.mean(), 1 - y_te.mean())))
