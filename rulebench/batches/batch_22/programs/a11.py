"""XGBoost churn model with a cost-weighted logistic objective."""
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

SEED = 4
COST_CHURN = 2.0
COST_STAY = 1.0

X, y = make_classification(
    n_samples=6000, n_features=25, n_informative=10, n_redundant=5,
    weights=[0.7, 0.3], class_sep=1.0, flip_y=0.03, random_state=SEED)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=SEED)

dtrain = xgb.DMatrix(X_tr, label=y_tr)
dval = xgb.DMatrix(X_va, label=y_va)
dtest = xgb.DMatrix(X_te, label=y_te)


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def weighted_logistic(preds, dmat):
    labels = dmat.get_label()
    w = np.where(labels == 1, COST_CHURN, COST_STAY)
    grad = w * (preds - labels)
    hess = w * preds * (1.0 - preds)
    return grad, hess


def weighted_logloss(preds, dmat):
    labels = dmat.get_label()
    p = np.clip(sigmoid(preds), 1e-7, 1 - 1e-7)
    w = np.where(labels == 1, COST_CHURN, COST_STAY)
    ll = -(labels * np.log(p) + (1 - labels) * np.log(1 - p))
    return "wlogloss", float((w * ll).sum() / w.sum())


params = {
    "max_depth": 5,
    "eta": 0.1,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "min_child_weight": 1.0,
    "base_score": 0.0,
    "nthread": 1,
    "seed": SEED,
    "disable_default_eval_metric": 1,
}

history = {}
booster = xgb.train(
    params,
    dtrain,
    num_boost_round=200,
    obj=weighted_logistic,
    custom_metric=weighted_logloss,
    evals=[(dtrain, "train"), (dval, "val")],
    evals_result=history,
    verbose_eval=25,
)

prob = sigmoid(booster.predict(dtest, output_margin=True))
print("test accuracy:", round(accuracy_score(y_te, prob > 0.5), 4))
print("test AUC     :", round(roc_auc_score(y_te, prob), 4))
print("test logloss :", round(log_loss(y_te, prob), 4))
