import argparse
import numpy as np
import xgboost as xgb


def make_queries(n_q, rng, d=12):
    w = np.random.default_rng(123).normal(size=d)
    X, rel, groups = [], [], []
    for q in range(n_q):
        m = rng.integers(8, 25)
        shift = rng.normal(0, 1.5, d)
        x = rng.normal(size=(m, d))
        s = x @ w + 0.8 * np.sin(2 * x[:, 0]) + rng.normal(0, 0.5, m)
        r = np.clip(np.digitize(s - s.mean(), [-2, 0.5, 2.5, 4.5]), 0, 4)
        X.append(x + shift)
        rel.append(r)
        groups.append(m)
    return np.vstack(X), np.concatenate(rel), np.array(groups)


def ndcg(scores, rel, groups, k=5):
    out, start = [], 0
    for g in groups:
        s, r = scores[start:start + g], rel[start:start + g]
        start += g
        disc = 1 / np.log2(np.arange(2, k + 2))
        best = ((2.0 ** np.sort(r)[::-1][:k] - 1) * disc).sum()
        if best > 0:
            out.append(((2.0 ** r[np.argsort(-s)][:k] - 1) * disc).sum() / best)
    return np.mean(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=300)
    ap.add_argument("--eta", type=float, default=0.1)
    args = ap.parse_args()
    rng = np.random.default_rng(0)
    X, rel, g = make_queries(900, rng)
    Xv, relv, gv = make_queries(100, np.random.default_rng(1))
    order = rng.permutation(len(X))
    X, rel = X[order], rel[order]
    dtrain = xgb.DMatrix(X, label=rel)
    dtrain.set_group(g)
    dval = xgb.DMatrix(Xv, label=relv)
    dval.set_group(gv)
    params = dict(objective="rank:ndcg", eta=args.eta, max_depth=4, eval_metric="ndcg@5", nthread=1, seed=0)
    bst = xgb.train(params, dtrain, args.rounds, evals=[(dtrain, "train"), (dval, "val")], verbose_eval=20)
    print("validation NDCG@5", ndcg(bst.predict(dval), relv, gv))
    print("random NDCG@5", ndcg(rng.normal(size=len(relv)), relv, gv))


if __name__ == "__main__":
    main()
