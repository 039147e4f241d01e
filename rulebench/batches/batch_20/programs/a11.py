"""Fraud-style detection on a noisy, imbalanced table with XGBoost boosted forests."""
import argparse

import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split

ap = argparse.ArgumentParser()
ap.add_argument("--rounds", type=int, default=80)
ap.add_argument("--seed", type=int, default=41)
args = ap.parse_args()

X, y = make_classification(
    n_samples=16000, n_features=25, n_informative=8, n_redundant=4,
    weights=[0.95], flip_y=0.02, class_sep=1.0, random_state=args.seed,
)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=args.seed, stratify=y)
X_tr, X_va, y_tr, y_va = train_test_split(
    X_tr, y_tr, test_size=0.2, random_state=args.seed, stratify=y_tr)
print("positive share: train %.4f, test %.4f" % (y_tr.mean(), y_te.mean()))

params = {
    "objective": "binary:logistic",
    "eval_metric": ["logloss", "aucpr"],
    # every round fits four trees on row and column samples, then averages them
    "num_parallel_tree": 4,
    "eta": 0.3,
    "subsample": 0.5,
    "colsample_bynode": 0.5,
    "max_depth": 5,
    "min_child_weight": 1.0,
    "lambda": 3.0,
    "scale_pos_weight": float(np.sqrt((y_tr == 0).sum() / (y_tr == 1).sum())),
    "nthread": 1,
    "seed": args.seed,
}
dtrain, dval, dtest = (xgb.DMatrix(a, label=b) for a, b in
                       [(X_tr, y_tr), (X_va, y_va), (X_te, y_te)])
booster = xgb.train(
    params, dtrain, num_boost_round=args.rounds,
    evals=[(dtrain, "train"), (dval, "val")], verbose_eval=10,
)

p = booster.predict(dtest)
print("test AUC %.4f" % roc_auc_score(y_te, p))
print("test average precision %.4f (base rate %.4f)" % (
    average_precision_score(y_te, p), y_te.mean()))
top = np.argsort(-p)[:100]
print("precision in the 100 highest scores %.2f" % y_te[top].mean())
