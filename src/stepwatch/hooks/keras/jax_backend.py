"""Keras on JAX: steps are functions without state, from which values leave as outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from ...model.record import TensorInfo
from ...numerics.packed import Rows
from ..jax.packed_stats import pack_stats, unpack_stats
from .backend import (
    RETURNED,
    SIDE_OUTPUT,
    Array,
    Backend,
    Session,
    StepTrace,
    temporary_attributes,
)

try:
    from jax.extend.core import get_opaque_trace_state as _trace_state
except ImportError:  # before it moved
    from jax.core import get_opaque_trace_state as _trace_state


class JaxBackend(Backend):
    """How JAX runs models."""

    def __init__(self) -> None:
        self.on_host = jax.default_backend() == "cpu"

    def scope(self) -> object:
        return _trace_state(convention="nnx")

    def instrument(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        name = f"{kind}_step"
        original, make_function = getattr(model, name), model._make_function

        def step(state: Any, data: Any) -> Any:
            with session.collecting() as trace, differentiating(trace):
                returned, state = original(state, data)
            return {RETURNED: returned, SIDE_OUTPUT: session.packed(trace)}, state

        def make_instrumented(compiled: Callable[..., Any], **named: Any) -> Any:
            def one(state: Any, data: Any) -> Any:
                session.begins(state[0], state[1])
                found, state = compiled(state, data)
                if not (isinstance(found, Mapping) and SIDE_OUTPUT in found):
                    found = {RETURNED: found, SIDE_OUTPUT: {}}  # nnx is not given what stands in
                kept = state[2] if kind == "train" else ()
                session.ran(found[SIDE_OUTPUT], found[RETURNED], kept)
                return found[RETURNED], state

            return make_function(one, **named)

        with temporary_attributes(model, **{name: step, "_make_function": make_instrumented}):
            make()
        function = getattr(model, f"{kind}_function")

        def run(state: Any, iterator: Any) -> Any:
            with temporary_attributes(model, **{name: step}):  # it is looked up when it is traced
                return function(state, iterator)

        return run

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return (pack_stats(values),)

    def unpack(self, packed: Sequence[Any], infos: Sequence[TensorInfo]) -> Rows:
        return unpack_stats(np.asarray(packed[0]), infos)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        found: Callable[..., Any] = jax.jit(function)
        return found

    def to_numpy(self, value: Any) -> Array:
        return np.asarray(value)


@contextmanager
def differentiating(trace: StepTrace) -> Iterator[None]:
    """Let what is observed in a differentiated function leave it as one more output."""
    originals = {name: getattr(jax, name) for name in ("value_and_grad", "grad")}

    def value_and_grad(function: Any, argnums: Any = 0, has_aux: bool = False, **named: Any) -> Any:
        names: list[tuple[str, str]] = []

        def with_observed(*args: Any, **given: Any) -> Any:
            with trace.within() as observed:
                found = function(*args, **given)
            names[:] = [(one.name, one.collection) for one in observed]
            value, beside = found if has_aux else (found, None)
            return value, (beside, [one.value for one in observed])

        differentiated = originals["value_and_grad"](with_observed, argnums, has_aux=True, **named)

        def call(*args: Any, **given: Any) -> Any:
            (value, (beside, values)), gradients = differentiated(*args, **given)
            for (name, collection), one in zip(names, values, strict=True):
                trace.add(name, collection, one)
            return ((value, beside) if has_aux else value), gradients

        return call

    def grad(function: Any, argnums: Any = 0, has_aux: bool = False, **named: Any) -> Any:
        differentiated = value_and_grad(function, argnums, has_aux, **named)

        def call(*args: Any, **given: Any) -> Any:
            value, gradients = differentiated(*args, **given)
            return (gradients, value[1]) if has_aux else gradients

        return call

    with temporary_attributes(jax, value_and_grad=value_and_grad, grad=grad):
        yield


BACKEND = JaxBackend
