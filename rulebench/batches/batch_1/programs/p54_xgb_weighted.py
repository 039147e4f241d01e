# XGBoost, own objective (focal-ish weighted logloss), early stopping, imbalanced two-class problem
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

X, y = make_classification(8000, 25, n_informative=9, weights=[0.95], flip_y=0.02, random_state=9)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, stratify=y, random_state=9)
da, db = xgb.DMatrix(Xa, ya), xgb.DMatrix(Xb, yb)
W = 8.0


def weighted_logloss(raw, d):
    t = d.get_label()
    p = 1 / (1 + np.exp(-raw))
    w = np.where(t == 1, W, 1.0)
    return w * (p - t), np.maximum(w * p * (1 - p), 1e-6)


def wll(raw, d):
    t = d.get_label()
    p = np.clip(1 / (1 + np.exp(-raw)), 1e-7, 1 - 1e-7)
    w = np.where(t == 1, W, 1.0)
    return "wll", float(-(w * (t * np.log(p) + (1 - t) * np.log(1 - p))).sum() / w.sum())


bst = xgb.train({"eta": 0.1, "max_depth": 4, "subsample": 0.7, "nthread": 1, "seed": 1, "disable_default_eval_metric": 1, "base_score": 0.5},
                da, 400, evals=[(da, "train"), (db, "test")], obj=weighted_logloss, custom_metric=wll,
                early_stopping_rounds=25, verbose_eval=25)
raw = bst.predict(db, output_margin=True, iteration_range=(0, bst.best_iteration + 1))
print("best iteration", bst.best_iteration, "test auc", roc_auc_score(yb, raw))
