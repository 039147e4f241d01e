"""Lets the tests of rules run from a checkout that is not installed."""

from __future__ import annotations

from importlib import import_module

import pytest

from stepwatch import registry

_BUILT_IN = {
    "vanishing_gradient": "gradients:VanishingGradient",
    "grad_norm_spike": "gradients:GradNormSpike",
    "exploding_tensor": "numerics:ExplodingTensor",
    "non_finite_origin": "numerics:NonFiniteOrigin",
    "all_zero": "weights:AllZero",
    "untrained_parameter": "weights:UntrainedParameter",
    "loss_not_decreasing": "losses:LossNotDecreasing",
    "loss_spike": "losses:LossSpike",
    "overfit": "losses:Overfit",
}


@pytest.fixture(autouse=True)
def _rules_are_known(monkeypatch):
    if registry.names("stepwatch.rules"):
        return
    from importlib.metadata import EntryPoint

    entries = {
        name.replace("_", ""): [EntryPoint(name, f"stepwatch.rules.{where}", "stepwatch.rules")]
        for name, where in _BUILT_IN.items()
    }
    monkeypatch.setattr(registry, "_by_spelling", lambda group: entries)
    import_module("stepwatch.rules")
