"""The hook on scikit-learn keeps to what every hook keeps to."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.linear_model._stochastic_gradient import BaseSGDClassifier, BaseSGDRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.neural_network._multilayer_perceptron import BaseMultilayerPerceptron

from stepwatch.hooks.sklearn import SklearnHook, _Trainings
from stepwatch.testing.hook_contract import HookContract, Trained

pytestmark = pytest.mark.framework

SCRIPT = """
import numpy as np
from sklearn.neural_network import MLPRegressor

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 5))
model = MLPRegressor(hidden_layer_sizes=(8,), random_state=3)
for _ in range({steps}):
    model.partial_fit(x, x.sum(1))
print(float(model.loss_curve_[-1]))
"""


class TestContract(HookContract):
    loss = "loss/squared_error"
    weights_are = "after"

    def make(self, run, **options):
        return SklearnHook(run=run, **options)

    def train(self, hook, steps, each=lambda _: None):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 5))
        model = MLPRegressor(hidden_layer_sizes=(8,), random_state=3)
        for step in range(steps):
            each(step)
            model.partial_fit(x, x.sum(1))
        weights = {
            f"{kind}.{number}": np.array(value)
            for kind in ("coefs_", "intercepts_")
            for number, value in enumerate(getattr(model, kind))
        }
        return Trained(weights, model.loss_curve_)

    def script(self, steps):
        return SCRIPT.format(steps=steps)

    def patched(self):
        names = ("_initialize", "_backprop", "_update_no_improvement_count", "_fit_lbfgs")
        return (
            *(getattr(BaseMultilayerPerceptron, name) for name in names),
            BaseSGDClassifier._partial_fit,
            BaseSGDRegressor._partial_fit,
        )


def test_what_another_version_lacks_is_left_alone(monkeypatch):
    """Its import does not fail for us, and the rest of it is as it was."""
    other = ModuleType("other")
    other.BaseMultilayerPerceptron = type("Older", (), {"_backprop": lambda *_: None})
    monkeypatch.setitem(sys.modules, BaseMultilayerPerceptron.__module__, other)
    before = other.BaseMultilayerPerceptron._backprop
    trainings, listener = _Trainings(), object()
    trainings.add(listener)
    trainings.remove(listener)

    assert before is other.BaseMultilayerPerceptron._backprop
