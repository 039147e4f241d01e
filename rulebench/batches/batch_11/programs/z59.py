"""Gradient boosting with a custom weighted logistic objective."""
import argparse
import numpy as np
import xgboost as xgb
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split


class WeightedLogLoss:
    """Positives count more than negatives."""

    def __init__(self, pos_weight):
        self.pos_weight = pos_weight

    def __call__(self, margin, dtrain):
        y = dtrain.get_label()
        p = 1.0 / (1.0 + np.exp(-margin))
        w = np.where(y > 0.5, self.pos_weight, 1.0)
        grad = w * (p - y)
        hess = grad * np.maximum(p * (1 - p), 1e-6)
        return grad, hess


def eval_auc(margin, dmat):
    return "auc_margin", float(roc_auc_score(dmat.get_label(), margin))


def load(seed):
    X, y = make_classification(20000, 25, n_informative=10, n_redundant=5, n_clusters_per_class=4, weights=[0.9], class_sep=0.8, flip_y=0.02, random_state=seed)
    Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    Xtr, Xva, ytr, yva = train_test_split(Xtr, ytr, test_size=0.25, stratify=ytr, random_state=seed)
    return xgb.DMatrix(Xtr, ytr), xgb.DMatrix(Xva, yva), xgb.DMatrix(Xte, yte)


def top_features(bst, k=5):
    gain = bst.get_score(importance_type="gain")
    return sorted(gain, key=gain.get, reverse=True)[:k]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=300)
    ap.add_argument("--eta", type=float, default=0.08)
    ap.add_argument("--depth", type=int, default=5)
    ap.add_argument("--pos-weight", type=float, default=5.0)
    args = ap.parse_args()
    dtr, dva, dte = load(3)
    params = {"eta": args.eta, "max_depth": args.depth, "subsample": 0.8, "colsample_bytree": 0.8, "disable_default_eval_metric": True,
              "lambda": 1.0, "seed": 0, "nthread": 1, "base_score": 0.0}
    result = {}
    bst = xgb.train(params, dtr, args.rounds, evals=[(dtr, "train"), (dva, "valid")], obj=WeightedLogLoss(args.pos_weight),
                    custom_metric=eval_auc, maximize=True, early_stopping_rounds=70, evals_result=result, verbose_eval=25)
    m = bst.predict(dte, output_margin=True, iteration_range=(0, bst.best_iteration + 1))
    y = dte.get_label()
    print("top features", top_features(bst))
    print(f"best iteration {bst.best_iteration} test auc {roc_auc_score(y, m):.4f} AP {average_precision_score(y, m):.4f}")


if __name__ == "__main__":
    main()
