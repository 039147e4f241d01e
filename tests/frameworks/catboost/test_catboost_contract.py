"""The hook on CatBoost keeps to what every hook keeps to."""

from __future__ import annotations

import catboost
import numpy as np
import pytest

from stepwatch.hooks.catboost import CatBoostHook
from stepwatch.model.steps import Mode
from stepwatch.testing.hook_contract import HookContract, Trained
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework

PARAMETERS = {
    "loss_function": "RMSE",
    "random_seed": 3,
    "thread_count": 1,
    "allow_writing_files": False,
    "verbose": 0,
}
SCRIPT = """
import catboost
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 5))
model = catboost.CatBoostRegressor(iterations={steps}, **{parameters})
model.fit(x, x.sum(1))
print(model.evals_result_["learn"]["RMSE"][-1])
"""


class Calling:
    """Calls a function with the number of each round, as it is over."""

    def __init__(self, call):
        self._call = call

    def after_iteration(self, info):
        self._call(info.iteration - 1)
        return True


class TestContract(HookContract):
    loss = "learn-RMSE"
    has_gradients = False

    def make(self, run, **options):
        return CatBoostHook(run=run, **options)

    def train(self, hook, steps, each=lambda _: None):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 5))
        model = catboost.CatBoostRegressor(iterations=steps, **PARAMETERS)
        model.fit(x, x.sum(1), callbacks=[Calling(each)])
        return Trained({}, model.evals_result_["learn"]["RMSE"])

    def test_an_error_of_the_script_is_its_own(self, tmp_path):
        """CatBoost makes an error of its own of what a callback raises, with a hook and without."""

        def each(step):
            if step == 3:
                raise ValueError("of the user")

        with pytest.raises(catboost.CatBoostError) as alone:
            self.train(None, 8, each)
        with (
            pytest.raises(catboost.CatBoostError) as seen,
            self.make(tmp_path / "run", say=lambda _: None) as hook,
        ):
            self.train(hook, 8, each)

        assert "of the user" in str(alone.value)
        assert "of the user" in str(seen.value)
        trial = Trial(tmp_path / "run")
        assert "failed" == trial.state
        assert [0, 1, 2] == trial.steps(Mode.TRAIN)

    def script(self, steps):
        return SCRIPT.format(steps=steps, parameters=PARAMETERS)

    def patched(self):
        return (catboost.CatBoost._train,)
