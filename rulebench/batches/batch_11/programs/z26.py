"""Prediction intervals with XGBoost quantile boosters and early stopping."""
import argparse
import numpy as np
import xgboost as xgb
from sklearn.model_selection import KFold


def make(n, seed):
    r = np.random.default_rng(seed)
    X = r.uniform(-2, 2, (n, 6))
    scale = 0.2 + 0.4 * (X[:, 1] > 0)
    y = np.sin(2 * X[:, 0]) + X[:, 2] * X[:, 3] + scale * r.normal(size=n)
    return X, y


def pinball(y, q, tau):
    e = y - q
    return float(np.mean(np.maximum(tau * e, (tau - 1) * e)))


class QuantileModel:
    def __init__(self, tau, rounds, **params):
        self.tau, self.rounds = tau, rounds
        self.params = dict(objective="reg:quantileerror", quantile_alpha=tau, tree_method="hist", nthread=1, seed=0, **params)

    def fit(self, dtr, dva):
        self.bst = xgb.train(self.params, dtr, self.rounds, evals=[(dtr, "train"), (dva, "valid")], early_stopping_rounds=25, verbose_eval=False)
        return self

    def predict(self, d):
        return self.bst.predict(d, iteration_range=(0, self.bst.best_iteration + 1))


def coverage(y, lo, hi):
    return float(np.mean((y > lo) & (y < hi)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=600)
    ap.add_argument("--eta", type=float, default=0.1)
    ap.add_argument("--folds", type=int, default=3)
    ap.add_argument("--max-depth", type=int, default=4)
    args = ap.parse_args()
    X, y = make(12000, 0)
    Xte, yte = make(2000, 1)
    dte = xgb.DMatrix(Xte)
    preds = {t: [] for t in (0.05, 0.5, 0.95)}
    for fold, (a, b) in enumerate(KFold(args.folds, shuffle=True, random_state=0).split(X)):
        dtr, dva = xgb.DMatrix(X[a], y[a]), xgb.DMatrix(X[b], y[b])
        for t in preds:
            m = QuantileModel(t, args.rounds, eta=args.eta, max_depth=args.max_depth, min_child_weight=40, subsample=0.8).fit(dtr, dva)
            preds[t].append(m.predict(dte))
            print(f"fold {fold} tau {t} best iteration {m.bst.best_iteration} valid {m.bst.best_score:.4f}")
    q = {t: np.mean(p, 0) for t, p in preds.items()}
    for t in q:
        print(f"tau {t} test pinball {pinball(yte, q[t], t):.4f} constant {pinball(yte, np.quantile(y, t), t):.4f}")
    print(f"5-95 coverage {coverage(yte, q[0.05], q[0.95]):.4f} mean width {np.mean(q[0.95] - q[0.05]):.3f}")


if __name__ == "__main__":
    main()
