"""Survival with xgboost: survival:cox wants negative labels for censored rows."""
import argparse

import numpy as np
import xgboost as xgb
from sklearn.model_selection import KFold


def simulate(n, rng):
    x = rng.normal(size=(n, 12))
    risk = 0.9 * x[:, 0] - 0.8 * (x[:, 1] > 0) + 0.7 * x[:, 2] * x[:, 3] + 0.5 * np.abs(x[:, 4])
    t = rng.weibull(1.3, n) * np.exp(-risk / 1.3) * 24
    c = rng.uniform(3, 60, n)
    return x, np.minimum(t, c), t <= c, risk


def concordance(time, event, score):
    good = total = 0.0
    for i in np.flatnonzero(event):
        later = time > time[i]
        total += later.sum()
        good += (score[later] < score[i]).sum() + 0.5 * (score[later] == score[i]).sum()
    return good / total


def to_dmatrix(x, time, event):
    return xgb.DMatrix(x, label=np.where(event, time, -time))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rows", type=int, default=7000)
    ap.add_argument("--folds", type=int, default=4)
    ap.add_argument("--eta", type=float, default=0.04)
    ap.add_argument("--depth", type=int, default=4)
    args = ap.parse_args()

    rng = np.random.default_rng(90)
    x, time, event, risk = simulate(args.rows, rng)
    print("events %.2f" % event.mean(), "oracle c-index %.4f" % concordance(time, event, risk))
    params = dict(objective="survival:cox", eval_metric="cox-nloglik", eta=args.eta,
                  max_depth=args.depth, subsample=0.7, colsample_bytree=0.7,
                  min_child_weight=2, reg_lambda=2.0, nthread=1, seed=0)
    scores = []
    for fold, (tr, te) in enumerate(KFold(args.folds, shuffle=True, random_state=0).split(x)):
        inner = np.random.default_rng(fold).permutation(tr)
        va, tr = inner[:len(inner) // 6], inner[len(inner) // 6:]
        bst = xgb.train(params, to_dmatrix(x[tr], time[tr], event[tr]), 800,
                        evals=[(to_dmatrix(x[va], time[va], event[va]), "valid")],
                        early_stopping_rounds=40, verbose_eval=50)
        pred = bst.predict(xgb.DMatrix(x[te]), output_margin=True,
                           iteration_range=(0, bst.best_iteration + 1))
        scores.append(concordance(time[te], event[te], pred))
        print(f"fold {fold}: {bst.best_iteration + 1} trees, c-index {scores[-1]:.4f}")
    print("mean c-index %.4f" % np.mean(scores))


if __name__ == "__main__":
    main()
