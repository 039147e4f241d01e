"""The hook on LightGBM keeps to what every hook keeps to."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from stepwatch.hooks.lightgbm import LightGBMHook
from stepwatch.testing.hook_contract import HookContract, Trained

pytestmark = pytest.mark.framework

PARAMETERS = {
    "objective": "regression",
    "metric": "rmse",
    "bagging_fraction": 0.5,
    "bagging_freq": 1,
    "seed": 3,
    "num_threads": 1,
    "verbosity": -1,
}
SCRIPT = """
import lightgbm
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 5))
data = lightgbm.Dataset(x, label=x.sum(1))
history = {{}}
lightgbm.train(
    {parameters},
    data,
    {steps},
    valid_sets=[data],
    valid_names=["train"],
    callbacks=[lightgbm.record_evaluation(history)],
)
print(history["train"]["rmse"][-1])
"""


class TestContract(HookContract):
    loss = "train-rmse"
    has_gradients = False

    def make(self, run, **options):
        return LightGBMHook(run=run, **options)

    def train(self, hook, steps, each=lambda _: None):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 5))
        data = lightgbm.Dataset(x, label=x.sum(1))
        history = {}

        def calling(env):
            each(env.iteration)

        calling.before_iteration = True
        lightgbm.train(
            PARAMETERS,
            data,
            steps,
            valid_sets=[data],
            valid_names=["train"],
            callbacks=[
                calling,
                lightgbm.record_evaluation(history),
                *([hook] if hook else []),
            ],
        )
        return Trained({}, history["train"]["rmse"])

    def script(self, steps):
        return SCRIPT.format(steps=steps, parameters=PARAMETERS)

    def patched(self):
        from lightgbm import engine, sklearn

        return (lightgbm.train, lightgbm.cv, engine.train, engine.cv, sklearn.train)
