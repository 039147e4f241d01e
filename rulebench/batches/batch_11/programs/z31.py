"""Learning to rank with XGBoost: grouped data, NDCG, early stopping, chunked continuation."""
import argparse
import numpy as np
import xgboost as xgb


def make_queries(n_queries, seed):
    r = np.random.default_rng(seed)
    X, y, qid = [], [], []
    w = np.random.default_rng(42).normal(size=8)
    for q in range(n_queries):
        m = r.integers(8, 25)
        f = r.normal(size=(m, 8))
        s = f @ w + 1.5 * np.tanh(2 * f[:, 0] * f[:, 1]) + r.normal(0, 1.0, m) + r.normal(0, 3)
        rank = s.argsort().argsort() / (m - 1)
        X.append(f)
        y.append(np.digitize(rank, [0.5, 0.75, 0.9]))
        qid.append(np.full(m, q))
    return np.concatenate(X), np.concatenate(y), np.concatenate(qid)


def ndcg(scores, y, qid, k=5):
    out = []
    for q in np.unique(qid):
        m = qid == q
        g = 2.0 ** y[m] - 1
        disc = 1 / np.log2(np.arange(2, k + 2))
        got, best = g[np.argsort(-scores[m])][:k], np.sort(g)[::-1][:k]
        out.append((got * disc[:len(got)]).sum() / (best * disc[:len(best)]).sum())
    return float(np.mean(out))


class PrintEvery(xgb.callback.TrainingCallback):
    def __init__(self, k):
        self.k = k

    def after_iteration(self, model, epoch, evals_log):
        if epoch % self.k == 0:
            print(f"round {epoch} " + " ".join(f"{n} {list(m.values())[0][-1]:.4f}" for n, m in evals_log.items()))
        return False


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=300)
    ap.add_argument("--eta", type=float, default=0.1)
    args = ap.parse_args()
    sets = {n: make_queries(k, s) for n, k, s in (("train", 500, 0), ("valid", 120, 1), ("test", 150, 2))}
    dm = {}
    for n, (X, y, q) in sets.items():
        dm[n] = xgb.DMatrix(X, y)
        dm[n].set_info(qid=q)
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "eta": args.eta, "max_depth": 4, "nthread": 1, "seed": 1,
              "lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 8, "subsample": 0.9}
    bst = xgb.train(params, dm["train"], args.rounds, evals=[(dm["train"], "train"), (dm["valid"], "valid")],
                    early_stopping_rounds=40, verbose_eval=False, callbacks=[PrintEvery(20)])
    s = bst.predict(dm["test"], iteration_range=(0, bst.best_iteration + 1))
    _, y, q = sets["test"]
    rand = ndcg(np.random.default_rng(0).normal(size=len(y)), y, q)
    print(f"best iteration {bst.best_iteration} test NDCG@5 {ndcg(s, y, q):.4f} random order {rand:.4f}")


if __name__ == "__main__":
    main()
