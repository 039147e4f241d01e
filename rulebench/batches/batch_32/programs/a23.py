import numpy as np
from catboost import CatBoostClassifier, Pool
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 23
rng = np.random.default_rng(SEED)

# loan-like table with two categorical columns
n = 8000
region = rng.integers(0, 12, n)
job = rng.integers(0, 30, n)
reg_eff, job_eff = rng.normal(0, 0.7, 12), rng.normal(0, 0.8, 30)
num = rng.normal(size=(n, 6))
logit = reg_eff[region] + job_eff[job] + 1.2 * num[:, 0] - num[:, 1] * num[:, 2] + 0.5 * np.sin(3 * num[:, 3])
y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
X = np.concatenate([num.astype(object), np.array([f"r{r}" for r in region], object)[:, None],
                    np.array([f"j{j}" for j in job], object)[:, None]], 1)

X_trval, X_te, y_trval, y_te = train_test_split(X, y, test_size=0.2, random_state=SEED, stratify=y)
X_tr, X_va, y_tr, y_va = train_test_split(X_trval, y_trval, test_size=0.2, random_state=SEED, stratify=y_trval)
cats = [6, 7]
model = CatBoostClassifier(iterations=600, learning_rate=0.05, depth=5, eval_metric="AUC", thread_count=1,
                           random_seed=SEED, allow_writing_files=False, verbose=50, early_stopping_rounds=80)
model.fit(Pool(X_tr, y_tr, cats), eval_set=Pool(X_va, y_va, cats))
print("trees used:", model.tree_count_)
print("test AUC: %.4f" % roc_auc_score(y_te, model.predict_proba(X_te)[:, 1]))
