"""Which of the default rules can judge trainings of Keras, as the page on parity has it."""

from __future__ import annotations

import keras
import pytest

from stepwatch.hooks.keras import KerasHook
from tests.support.frameworks import parity
from tests.support.frameworks.keras import rule_trainings

pytestmark = pytest.mark.framework
COLUMNS = {
    "tensorflow": "Keras on TensorFlow",
    "jax": "Keras on JAX",
    "torch": "Keras on PyTorch",
}


class TestParity:
    def test_the_rules_that_can_judge_are_those_of_the_page(self, tmp_path):
        """Neither more nor fewer: what is captured and what the page says belong together."""
        runs = []
        for train in ("fit_features", "fit_tokens", "fit_numbers"):
            runs.append(tmp_path / train)
            with KerasHook(run=runs[-1], say=lambda _: None, strict=True):
                getattr(rule_trainings, train)()

        assert parity.promised(COLUMNS[keras.backend.backend()]) == parity.judged(*runs)
