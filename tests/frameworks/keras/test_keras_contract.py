"""The hook for Keras keeps to what every hook keeps to, on the backend that runs."""

from __future__ import annotations

from types import MappingProxyType

import keras
import pytest

from tests.support.frameworks.keras.keras_training import KerasContract

pytestmark = pytest.mark.framework


class TestContract(KerasContract):
    """As people compile models."""


class TestEager(KerasContract):
    """Every step runs as Python."""

    compiled = MappingProxyType({"run_eagerly": True})


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="it takes minutes to compile")
class TestCompiled(KerasContract):
    """Every step is compiled as a whole."""

    compiled = MappingProxyType({"jit_compile": True})
