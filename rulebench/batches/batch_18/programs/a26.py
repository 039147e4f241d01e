"""Learning to rank: train a LambdaMART model on query/document features."""
import argparse
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupShuffleSplit

FEATURES = [f"f{i}" for i in range(10)]


def make_data(n_queries, rng):
    rows = []
    for q in range(n_queries):
        n_docs = rng.integers(8, 25)
        offset = rng.normal(0, 3, 10)
        f = rng.normal(0, 1, (n_docs, 10))
        rel = f[:, 0] + 0.7 * f[:, 1] - 0.5 * f[:, 2] * f[:, 3] + rng.normal(0, 0.5, n_docs)
        grade = np.digitize(rel, np.quantile(rel, [0.5, 0.75, 0.9]))
        d = pd.DataFrame(f + offset, columns=FEATURES)
        d["label"] = grade
        d["qid"] = q
        rows.append(d)
    return pd.concat(rows).sample(frac=1.0, random_state=1).reset_index(drop=True)


def to_dmatrix(df):
    d = xgb.DMatrix(df[FEATURES], label=df["label"])
    d.set_group(df.groupby("qid").size().to_numpy())
    return d


def mean_ndcg(df, scores, k=5):
    df = df.assign(score=scores)
    vals = [ndcg_score([g.label], [g.score], k=k) for _, g in df.groupby("qid")]
    return float(np.mean(vals))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--queries", type=int, default=400)
    ap.add_argument("--rounds", type=int, default=150)
    ap.add_argument("--depth", type=int, default=4)
    args = ap.parse_args()

    rng = np.random.default_rng(0)
    df = make_data(args.queries, rng)
    tr, te = next(GroupShuffleSplit(1, test_size=0.25, random_state=0).split(df, groups=df.qid))
    train, test = df.iloc[tr], df.iloc[te]

    params = {"objective": "rank:ndcg", "eta": 0.1, "max_depth": args.depth, "eval_metric": "ndcg@5",
              "nthread": 1, "seed": 0, "min_child_weight": 0.1}
    dtrain, dtest = to_dmatrix(train), to_dmatrix(test)
    booster = xgb.train(params, dtrain, num_boost_round=args.rounds,
                        evals=[(dtrain, "train"), (dtest, "test")], verbose_eval=25)

    scores = booster.predict(xgb.DMatrix(test[FEATURES]))
    print("NDCG@5 on held-out queries: %.4f" % mean_ndcg(test, scores))
    print("NDCG@5 of a random order:   %.4f" % mean_ndcg(test, rng.random(len(test))))


if __name__ == "__main__":
    main()
