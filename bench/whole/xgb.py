"""Trains boosted trees on a synthetic table by xgboost.train; a step is one round."""

import argparse
import time

import numpy as np
import xgboost as xgb


class Clock(xgb.callback.TrainingCallback):
    """Times the rounds after the first few."""

    def __init__(self, warmup):
        super().__init__()
        self.warmup = warmup
        self.start = time.perf_counter()

    def after_iteration(self, model, epoch, evals_log):  # noqa: ARG002
        if epoch + 1 == self.warmup:
            self.start = time.perf_counter()
        return False


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200, help="boosting rounds")
args = parser.parse_args()

rng = np.random.default_rng(7)
X = rng.normal(size=(50_000, 50)).astype("float32")
margin = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3:8].sum(axis=1)
y = (margin + rng.normal(size=len(X)) > 0).astype("float32")

dtrain = xgb.DMatrix(X[:40_000], label=y[:40_000])
dvalid = xgb.DMatrix(X[40_000:], label=y[40_000:])

params = {
    "objective": "binary:logistic",
    "eval_metric": "logloss",
    "max_depth": 4,
    "eta": 0.1,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "tree_method": "hist",
    "seed": 7,
}

warmup = max(1, min(20, args.steps // 10))
clock = Clock(warmup)
results = {}
booster = xgb.train(
    params,
    dtrain,
    num_boost_round=args.steps,
    evals=[(dtrain, "train"), (dvalid, "valid")],
    evals_result=results,
    verbose_eval=10,
    callbacks=[clock],
)
elapsed = time.perf_counter() - clock.start

error = np.mean((booster.predict(dvalid) > 0.5) != dvalid.get_label())
print(f"validation error {error:.4f}")
loss = float(results["train"]["logloss"][-1])
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss!r}")
