import argparse
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.metrics import ndcg_score


def make_queries(n_queries, rng):
    """Documents per query with graded relevance 0..4 (relative to the other documents)."""
    frames = []
    for q in range(n_queries):
        n = int(rng.integers(8, 30))
        x = rng.normal(size=(n, 8))
        level = rng.normal(0, 3)
        x[:, 5] = level + rng.normal(0, 0.5, n)
        s = x[:, 0] + 0.6 * x[:, 1] * x[:, 2] - 0.5 * np.abs(x[:, 3]) + 0.3 * rng.normal(size=n)
        rank = np.argsort(np.argsort(s)) / n
        # some queries have many relevant documents, others hardly any
        rel = np.clip(np.floor(5 * rank + 0.8 * level), 0, 4).astype(int)
        f = pd.DataFrame(x, columns=[f"f{i}" for i in range(8)])
        f["qid"], f["rel"] = q, rel
        frames.append(f)
    return pd.concat(frames, ignore_index=True)


def split_queries(df, frac, rng):
    ids = df["qid"].unique()
    rng.shuffle(ids)
    cut = int(frac * len(ids))
    return df[df["qid"].isin(ids[:cut])], df[df["qid"].isin(ids[cut:])]


def group_sizes(df):
    return df.groupby("qid", sort=False).size().to_numpy()


def mean_ndcg(model, df, features, k=5):
    scores = []
    for _, g in df.groupby("qid"):
        if g["rel"].max() > 0 and g["rel"].nunique() > 1:
            scores.append(ndcg_score([g["rel"].to_numpy()], [model.predict(g[features])], k=k))
    return float(np.mean(scores))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--queries", type=int, default=400)
    p.add_argument("--rounds", type=int, default=120)
    p.add_argument("--eta", type=float, default=0.1)
    args = p.parse_args()
    rng = np.random.default_rng(3)

    df = make_queries(args.queries, rng)
    features = [c for c in df.columns if c.startswith("f")]
    train, valid = split_queries(df, 0.75, rng)
    train = train.sample(frac=1.0, random_state=0)
    valid = valid.sort_values("qid")
    print("train", len(train), "valid", len(valid))

    ranker = xgb.XGBRanker(objective="rank:ndcg", n_estimators=args.rounds, learning_rate=args.eta,
                           max_depth=4, eval_metric="ndcg@5", n_jobs=1, random_state=0)
    ranker.fit(train[features], train["rel"], group=group_sizes(train),
               eval_set=[(train[features], train["rel"]), (valid[features], valid["rel"])],
               eval_group=[group_sizes(train), group_sizes(valid)], verbose=20)
    print("valid NDCG@5", mean_ndcg(ranker, valid, features))


if __name__ == "__main__":
    main()
