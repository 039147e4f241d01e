import numpy as np
import lightgbm as lgb
from sklearn.metrics import ndcg_score

SEED = 9
rng = np.random.default_rng(SEED)

# Learning to rank: queries with 8 to 20 candidate documents each
N_QUERIES, N_FEAT = 600, 12
w = rng.normal(size=N_FEAT)


def make_query(qid):
    n = rng.integers(8, 21)
    offset = rng.normal(scale=2.5, size=N_FEAT)
    x = rng.normal(size=(n, N_FEAT)) + offset
    rel = (x - offset) @ w + 1.2 * np.tanh((x[:, 0] - offset[0]) * (x[:, 1] - offset[1])) + rng.normal(scale=0.7, size=n)
    # the grade of a document is relative to the other documents of its query
    ranks = rel.argsort().argsort() / (n - 1)
    grade = np.digitize(ranks, [0.5, 0.75, 0.9])
    return x, grade, np.full(n, qid)


parts = [make_query(q) for q in range(N_QUERIES)]
X = np.concatenate([p[0] for p in parts])
y = np.concatenate([p[1] for p in parts])
qid = np.concatenate([p[2] for p in parts])

train_mask = qid < 400
valid_mask = (qid >= 400) & (qid < 500)
test_mask = qid >= 500


def prepare(mask, shuffle=False):
    Xs, ys, qs = X[mask], y[mask], qid[mask]
    if shuffle:
        perm = rng.permutation(len(ys))
        Xs, ys, qs = Xs[perm], ys[perm], qs[perm]
    _, group = np.unique(qs, return_counts=True)
    return Xs, ys, qs, group


X_tr, y_tr, q_tr, g_tr = prepare(train_mask, shuffle=True)
X_va, y_va, q_va, g_va = prepare(valid_mask)
X_te, y_te, q_te, g_te = prepare(test_mask)
print("rows", len(y_tr), len(y_va), len(y_te))

ranker = lgb.LGBMRanker(
    objective="lambdarank",
    n_estimators=300,
    learning_rate=0.05,
    num_leaves=15,
    min_child_samples=20,
    random_state=SEED,
    n_jobs=1,
    verbose=-1,
)
ranker.fit(
    X_tr,
    y_tr,
    group=g_tr,
    eval_set=[(X_tr, y_tr), (X_va, y_va)],
    eval_group=[g_tr, g_va],
    eval_names=["train", "valid"],
    eval_at=[5],
    callbacks=[lgb.log_evaluation(30)],
)


def mean_ndcg(X, y, q, k=5):
    pred = ranker.predict(X)
    out = []
    for i in np.unique(q):
        m = q == i
        out.append(ndcg_score([2.0 ** y[m] - 1], [pred[m]], k=k))
    return float(np.mean(out))


print(f"test ndcg@5 {mean_ndcg(X_te, y_te, q_te):.4f}")
rand = np.mean([ndcg_score([2.0 ** y_te[q_te == i] - 1], [rng.random((q_te == i).sum())], k=5) for i in np.unique(q_te)])
print(f"random order {rand:.4f}")
