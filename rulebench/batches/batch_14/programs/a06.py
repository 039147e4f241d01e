"""Learning to rank for a small search engine: features -> sklearn scaler -> XGBRanker."""
import argparse
import numpy as np
import xgboost as xgb
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import ndcg_score


def make_queries(n_queries, seed):
    rng = np.random.default_rng(seed)
    X, rel, qid = [], [], []
    w = np.array([1.2, -0.8, 0.6, 0.0, 0.0, 0.5])
    for q in range(n_queries):
        m = int(rng.integers(8, 25))
        offset = rng.normal(0, 3)
        feats = rng.normal(size=(m, 6))
        latent = feats @ w + 0.6 * feats[:, 0] * feats[:, 1] + rng.normal(0, 0.4, m)
        # broad queries have many good documents, narrow ones only a few
        grade = np.digitize(latent + offset, [-1.0, 1.5, 4.0])
        feats[:, 3] += offset
        feats[:, 4] = feats[:, 4] * 0.6 + offset
        X.append(feats)
        rel.append(grade)
        qid.append(np.full(m, q))
    return np.concatenate(X), np.concatenate(rel), np.concatenate(qid)


def shuffle_rows(X, y, q, seed):
    p = np.random.default_rng(seed).permutation(len(X))
    return X[p], y[p], q[p]


def mean_ndcg(model, X, y, q, k=5):
    s = model.predict(X)
    vals = []
    for g in np.unique(q):
        m = q == g
        if y[m].max() > 0:
            vals.append(ndcg_score(y[None, m], s[None, m], k=k))
    return float(np.mean(vals))


def train(args):
    X, y, q = make_queries(args.queries, 0)
    Xv, yv, qv = make_queries(80, 1)
    Xt, yt, qt = make_queries(150, 2)
    X, y, q = shuffle_rows(X, y, q, args.seed)
    sc = StandardScaler().fit(X)
    X, Xv, Xt = sc.transform(X), sc.transform(Xv), sc.transform(Xt)

    groups = np.bincount(q)
    groups_v = np.bincount(qv)
    ranker = xgb.XGBRanker(
        objective="rank:ndcg", eval_metric="ndcg@5",
        n_estimators=args.rounds, learning_rate=args.eta, max_depth=4,
        min_child_weight=0.1, early_stopping_rounds=30, n_jobs=1,
        random_state=args.seed,
    )
    ranker.fit(X, y, group=groups, eval_set=[(Xv, yv)], eval_group=[groups_v], verbose=20)
    print("best iteration", ranker.best_iteration)
    print("test NDCG@5  %.4f" % mean_ndcg(ranker, Xt, yt, qt))
    print("feature importances", np.round(ranker.feature_importances_, 3))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--queries", type=int, default=250)
    p.add_argument("--rounds", type=int, default=150)
    p.add_argument("--eta", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=4)
    train(p.parse_args())
