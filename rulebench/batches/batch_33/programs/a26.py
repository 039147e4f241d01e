"""Churn-like table with categorical columns, CatBoost, early stopping on a validation split."""
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

seed = 33
rng = np.random.default_rng(seed)
n = 24000
df = pd.DataFrame({
    "tenure": rng.gamma(2.0, 14.0, n).round(1),
    "monthly": rng.normal(65, 22, n).clip(15, None).round(2),
    "calls": rng.poisson(1.3, n),
    "plan": rng.choice(["basic", "family", "business", "student"], n, p=[.45, .3, .1, .15]),
    "city": rng.choice([f"c{i:02d}" for i in range(35)], n),
    "payment": rng.choice(["card", "transfer", "cash"], n),
})
city_eff = dict(zip([f"c{i:02d}" for i in range(35)], rng.normal(0, .8, 35)))
plan_eff = {"basic": .4, "family": -.5, "business": -.9, "student": .7}
z = (-0.6 - 0.04 * (df.tenure - 28) + 0.025 * (df.monthly - 65) + 0.7 * (df.calls >= 3)
     + df.city.map(city_eff) + df.plan.map(plan_eff) + 0.9 * ((df.payment == "cash") & (df.tenure < 12)))
y = (rng.random(n) < 1 / (1 + np.exp(-1.3 * z))).astype(int)

X_tr, X_te, y_tr, y_te = train_test_split(df, y, test_size=0.2, stratify=y, random_state=seed)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=seed)
cats = ["plan", "city", "payment"]

clf = CatBoostClassifier(iterations=900, learning_rate=0.03, depth=5, loss_function="Logloss",
                         eval_metric="AUC", random_seed=seed, thread_count=1, od_type="Iter", od_wait=60,
                         allow_writing_files=False)
clf.fit(Pool(X_tr, y_tr, cats), eval_set=Pool(X_va, y_va, cats), verbose=100)

p = clf.predict_proba(X_te)[:, 1]
print("trees kept:", clf.tree_count_)
print(f"test AUC {roc_auc_score(y_te, p):.4f}  logloss {log_loss(y_te, p):.4f}  "
      f"(base rate logloss {log_loss(y_te, np.full(len(y_te), y_tr.mean())):.4f})")
