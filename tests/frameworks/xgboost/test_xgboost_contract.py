"""The hook on XGBoost keeps to what every hook keeps to."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost
from xgboost.callback import CallbackContainer, TrainingCallback

from stepwatch.hooks.xgboost import XGBoostHook
from stepwatch.testing.hook_contract import HookContract, Trained

pytestmark = pytest.mark.framework

SCRIPT = """
import numpy as np
import xgboost

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 5))
data = xgboost.DMatrix(x, label=x.sum(1))
history = {{}}
parameters = {{"max_depth": 3, "subsample": 0.5, "seed": 3}}
options = {{"evals": [(data, "train")], "evals_result": history, "verbose_eval": False}}
xgboost.train(parameters, data, {steps}, **options)
print(history["train"]["rmse"][-1])
"""


class Calling(TrainingCallback):
    """A callback of the user's.

    Args:
        each: Called before each round.
    """

    def __init__(self, each):
        self.each = each

    def before_iteration(self, model, epoch, evals_log):
        self.each(epoch)
        return False


class TestContract(HookContract):
    loss = "train-rmse"
    has_gradients = False

    def make(self, run, **options):
        return XGBoostHook(run=run, **options)

    def train(self, hook, steps, each=lambda _: None):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 5))
        data = xgboost.DMatrix(x, label=x.sum(1))
        history = {}
        xgboost.train(
            {"max_depth": 3, "subsample": 0.5, "seed": 3},
            data,
            steps,
            evals=[(data, "train")],
            evals_result=history,
            verbose_eval=False,
            callbacks=[Calling(each), *([hook] if hook else [])],
        )
        return Trained({}, history["train"]["rmse"])

    def script(self, steps):
        return SCRIPT.format(steps=steps)

    def patched(self):
        return (CallbackContainer.after_iteration,)
