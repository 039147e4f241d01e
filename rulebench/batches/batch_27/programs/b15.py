import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

# customer churn, CatBoost with categorical columns
SEED = 20
rng = np.random.default_rng(SEED)
n = 30000
df = pd.DataFrame({
    "plan": rng.choice(["basic", "plus", "family", "pro"], n, p=[0.4, 0.3, 0.2, 0.1]),
    "region": rng.choice([f"r{i:02d}" for i in range(20)], n),
    "channel": rng.choice(["web", "shop", "phone"], n),
    "months": rng.integers(1, 72, n),
    "calls": rng.poisson(2, n),
    "bill": rng.gamma(4, 12, n),
})
region_effect = dict(zip(sorted(df.region.unique()), rng.normal(0, 0.8, 20)))
logit = (-1.0 + df.plan.map({"basic": 0.8, "plus": 0.0, "family": -0.6, "pro": -0.2}) + df.region.map(region_effect)
         - 0.04 * df.months + 0.45 * df.calls + 0.02 * (df.bill - 48) * (df.plan == "basic") + (df.channel == "phone") * 0.7)
churn = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)

cats = ["plan", "region", "channel"]
X_tr, X_te, y_tr, y_te = train_test_split(df, churn, test_size=0.25, stratify=churn, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=SEED)
model = CatBoostClassifier(iterations=1200, learning_rate=0.03, depth=5, loss_function="Logloss", eval_metric="AUC",
                           random_seed=SEED, thread_count=1, od_type="Iter", od_wait=150, allow_writing_files=False)
model.fit(Pool(X_tr, y_tr, cat_features=cats), eval_set=Pool(X_va, y_va, cat_features=cats), verbose=100)
print("best iteration", model.get_best_iteration())
print("test AUC %.4f (with the true probabilities: %.4f)"
      % (roc_auc_score(y_te, model.predict_proba(X_te)[:, 1]), roc_auc_score(y_te, logit[X_te.index])))
