import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import roc_auc_score, average_precision_score

X, y = make_classification(6000, 20, n_informative=8, weights=[0.9], class_sep=0.8, random_state=303)
X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
X_tr, X_te, y_tr, y_te = train_test_split(X, y, stratify=y, test_size=0.2, random_state=1)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, stratify=y_tr, test_size=0.2, random_state=1)
clf = xgb.XGBClassifier(
    n_estimators=2000, learning_rate=0.05, max_depth=4, subsample=0.8, colsample_bytree=0.7,
    scale_pos_weight=(y_tr == 0).sum() / (y_tr == 1).sum(),
    eval_metric="aucpr", early_stopping_rounds=40, n_jobs=1, random_state=1)
clf.fit(X_tr, y_tr, eval_set=[(X_tr, y_tr), (X_va, y_va)], verbose=25)
s = clf.predict_proba(X_te)[:, 1]
print("best iteration", clf.best_iteration)
print("test AUC %.4f  AP %.4f" % (roc_auc_score(y_te, s), average_precision_score(y_te, s)))
