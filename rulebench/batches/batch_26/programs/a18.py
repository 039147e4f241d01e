import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

RS = 13
X, y = make_classification(n_samples=20000, n_features=20, n_informative=9, n_redundant=4,
                           n_clusters_per_class=3, class_sep=0.9, flip_y=0.03, random_state=13)
# some readings are missing in the export
rng = np.random.default_rng(13)
X[rng.random(X.shape) < 0.05] = np.nan

X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, stratify=y, random_state=RS)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=RS)

clf = xgb.XGBClassifier(
    n_estimators=600,
    learning_rate=0.05,
    max_depth=4,
    subsample=0.8,
    colsample_bytree=0.8,
    reg_lambda=2.0,
    min_child_weight=3,
    eval_metric=["logloss", "auc"],
    early_stopping_rounds=40,
    tree_method="hist",
    n_jobs=1,
    random_state=RS,
)
clf.fit(X_tr, y_tr, eval_set=[(X_tr, y_tr), (X_va, y_va)], verbose=100)

p = clf.predict_proba(X_te)[:, 1]
print("best iteration", clf.best_iteration)
print("top features  ", np.argsort(clf.feature_importances_)[::-1][:5])
print(f"test: accuracy {accuracy_score(y_te, p > 0.5):.4f}  auc {roc_auc_score(y_te, p):.4f}  logloss {log_loss(y_te, p):.4f}")
