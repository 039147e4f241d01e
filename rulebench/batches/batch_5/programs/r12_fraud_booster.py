"""Fraud scoring. Missed frauds cost more, so positives get a bigger weight in our own objective."""
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import train_test_split

X, y = make_classification(n_samples=5000, n_features=20, n_informative=8, n_redundant=4, n_clusters_per_class=3,
                           weights=[0.9, 0.1], class_sep=0.9, flip_y=0.01, random_state=17)
X_tr, X_va, y_tr, y_va = train_test_split(X, y, stratify=y, test_size=0.3, random_state=17)
dtrain, dvalid = xgb.DMatrix(X_tr, label=y_tr), xgb.DMatrix(X_va, label=y_va)
POS_WEIGHT = 3.0


def weighted_logloss(preds, dmat):
    labels = dmat.get_label()
    w = np.where(labels == 1, POS_WEIGHT, 1.0)
    grad = w * (preds - labels)
    hess = w * preds * (1.0 - preds)
    return grad, np.maximum(hess, 1e-6)


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def logloss_metric(preds, dmat):
    return "wll", float(log_loss(dmat.get_label(), np.clip(sigmoid(preds), 1e-7, 1 - 1e-7)))


params = {"max_depth": 4, "eta": 0.1, "subsample": 0.8, "colsample_bytree": 0.8, "base_score": 0.0,
          "seed": 17, "nthread": 1, "disable_default_eval_metric": True}
booster = xgb.train(params, dtrain, num_boost_round=200, evals=[(dtrain, "train"), (dvalid, "valid")],
                    obj=weighted_logloss, custom_metric=logloss_metric, verbose_eval=20)
margin = booster.predict(dvalid, output_margin=True)
print("average precision %.4f" % average_precision_score(y_va, margin))
print("log loss          %.4f" % log_loss(y_va, np.clip(sigmoid(margin), 1e-7, 1 - 1e-7)))
