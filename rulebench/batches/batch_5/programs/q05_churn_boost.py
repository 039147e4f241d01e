"""Churn style tabular model, tuned on F1."""
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

X, y = make_classification(n_samples=6000, n_features=20, n_informative=10, n_redundant=4, n_clusters_per_class=4,
                           weights=[0.75], flip_y=0.02, class_sep=0.8, random_state=33)
X_tr, X_tmp, y_tr, y_tmp = train_test_split(X, y, test_size=0.4, stratify=y, random_state=33)
X_va, X_te, y_va, y_te = train_test_split(X_tmp, y_tmp, test_size=0.5, stratify=y_tmp, random_state=33)
dtr, dva, dte = xgb.DMatrix(X_tr, y_tr), xgb.DMatrix(X_va, y_va), xgb.DMatrix(X_te, y_te)


def f1_metric(preds, dmat):
    return "f1", float(f1_score(dmat.get_label(), (preds > 0.5).astype(int)))


params = {"objective": "binary:logistic", "eta": 0.08, "max_depth": 4, "subsample": 0.8, "colsample_bytree": 0.8,
          "seed": 33, "nthread": 1, "disable_default_eval_metric": 1}
bst = xgb.train(params, dtr, num_boost_round=600, evals=[(dtr, "train"), (dva, "valid")],
                custom_metric=f1_metric, early_stopping_rounds=150, verbose_eval=25)
print("best iteration", bst.best_iteration, "best score", bst.best_score)
p = bst.predict(dte, iteration_range=(0, bst.best_iteration + 1))
print("test F1 %.4f  AUC %.4f" % (f1_score(y_te, p > 0.5), roc_auc_score(y_te, p)))
