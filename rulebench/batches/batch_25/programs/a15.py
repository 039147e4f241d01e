import lightgbm as lgb
import numpy as np

# learning to rank: 1200 queries, 8 to 30 documents each
rng = np.random.default_rng(10)
F = 15
w = rng.normal(size=F)


def queries(n):
    X, rel, sizes = [], [], []
    for _ in range(n):
        m = rng.integers(8, 31)
        ctx = rng.normal(size=3)
        d = rng.normal(size=(m, F))
        s = d @ w + 1.5 * d[:, 0] * d[:, 1] + 1.5 * np.sin(2 * d[:, 2]) * ctx[0] + 0.8 * rng.normal(size=m)
        X.append(np.hstack([d, np.tile(ctx, (m, 1))]))
        rel.append(np.digitize(s, [-1, 2, 4, 6]))
        sizes.append(m)
    return np.vstack(X), np.concatenate(rel), np.array(sizes)


Xtr, ytr, gtr = queries(1200)
Xva, yva, gva = queries(200)
Xte, yte, gte = queries(200)

ranker = lgb.LGBMRanker(objective="lambdarank", n_estimators=600, learning_rate=0.04, num_leaves=15,
                        min_child_samples=40, subsample=0.8, subsample_freq=1, n_jobs=1, random_state=10, verbose=-1)
ranker.fit(Xtr, ytr, group=gtr, eval_set=[(Xva, yva)], eval_group=[gva], eval_at=[5],
           callbacks=[lgb.early_stopping(60), lgb.log_evaluation(50)])


def ndcg5(score):
    out, at = [], 0
    for m in gte:
        g = 2.0 ** yte[at:at + m] - 1
        o = np.argsort(-score[at:at + m])[:5]
        disc = 1 / np.log2(np.arange(2, 7))
        best = (np.sort(g)[::-1][:5] * disc).sum()
        if best > 0:
            out.append((g[o] * disc).sum() / best)
        at += m
    return np.mean(out)


print("NDCG@5 test %.4f, random order %.4f" % (ndcg5(ranker.predict(Xte)), ndcg5(rng.random(len(yte)))))
