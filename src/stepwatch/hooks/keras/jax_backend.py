"""Keras on JAX: steps are functions without state, from which values leave as outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any

import jax
import numpy as np

from ...model.record import TensorInfo
from ...numerics.packed import Rows
from ..jax.packed_stats import as_vectors, pack_stats, returning_s, unpack_stats
from ..observations import Outputs, TensorRef, split_vectors
from .backend import (
    RETURNED,
    Array,
    Backend,
    Leave,
    Session,
    StepTrace,
    made_function,
    temporary_attributes,
)

try:
    from jax.extend.core import get_opaque_trace_state as _trace_state
except ImportError:  # before it moved
    from jax.core import get_opaque_trace_state as _trace_state


class CompiledStep:
    """What a model runs for a batch, with what is observed in it as a further output.

    Args:
        make: Lets the model make its function.
        when: See ``Session.packed``.
        only_losses: Observe nothing else.
    """

    def __init__(
        self,
        model: Any,
        kind: str,
        make: Callable[[], None],
        session: Session,
        *,
        when: Callable[[Leave], Sequence[Any]] | None = None,
        only_losses: bool = False,
    ) -> None:
        self._model, self._kind, self._make = model, kind, make
        self._session, self._when, self._only_losses = session, when, only_losses
        #: How long the first call took, in which it was compiled, and how long it takes about to
        #: return what is observed, seconds.
        self.first_s = self.returning_s = 0.0
        self._original, self._make_function = getattr(model, f"{kind}_step"), model._make_function
        self._step = {f"{kind}_step": self._run}  # it is looked up when it is made, or traced
        self._compiled: Callable[..., Any] | None = None

    def made(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that the model makes of this, with ``run`` for each batch."""

        def make_function(compiled: Callable[..., Any], **named: Any) -> Any:
            self._compiled = compiled
            return self._make_function(run, **named)

        stand_ins = {**self._step, "_make_function": make_function}
        function: Callable[..., Any] = made_function(
            self._model, self._kind, self._make, **stand_ins
        )
        return function

    def __call__(self, state: Any, data: Any) -> tuple[Mapping[str, Any], Any]:
        if self._compiled is None:
            self.made(self)
            with self._session.compiling():
                return self(state, data)
        assert self._compiled is not None
        began = perf_counter()
        with temporary_attributes(self._model, **self._step):
            found, state = self._compiled(state, data)
        if not (isinstance(found, Mapping) and RETURNED in found):
            found = {RETURNED: found}  # nnx is not given what stands in
        if not self.first_s:
            self.first_s = perf_counter() - began
            self.returning_s = returning_s(one for key, one in found.items() if key != RETURNED)
        return found, state

    def _run(self, state: Any, data: Any) -> Any:
        collecting = self._session.collecting(only_losses=self._only_losses)
        with collecting as trace, differentiating(trace):
            returned, state = self._original(state, data)
        return {RETURNED: returned, **self._session.packed(trace, self._when)}, state


class JaxBackend(Backend):
    """How JAX runs models."""

    returns_early = True

    @cached_property
    def on_host(self) -> bool:
        return bool(jax.default_backend() == "cpu")

    def scope(self) -> object:
        return _trace_state(convention="nnx")

    def is_ready(self, values: Any) -> bool:
        return all(one.is_ready() for one in _first(values))

    def wait(self, values: Any) -> None:
        jax.block_until_ready(_first(values))

    def instrument(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        # On the host the first graph serves for losses alone, too, until what it returns for nobody
        # has taken as long as compiling another does.
        serves = self.on_host and session.thins
        full = CompiledStep(model, kind, make, session, when=_always if serves else None)
        of_losses = CompiledStep(model, kind, make, session, only_losses=True)
        unread_s = 0.0

        def run(state: Any, data: Any) -> Any:
            nonlocal unread_s
            only_losses = session.begins(lambda: (state[0], state[1]))
            is_unread = only_losses and serves and unread_s < full.first_s
            chosen = of_losses if only_losses and not is_unread else full
            found, state_after = chosen(state, data)
            if is_unread:
                unread_s += full.returning_s
            kept = state_after[2] if kind == "train" else ()
            after = (state_after[0], state_after[1]) if kind == "train" else ((), ())
            session.ran(found, found[RETURNED], lambda: after, lambda: kept)
            return found[RETURNED], state_after

        return full.made(run)

    def as_outputs(self, values: Sequence[Any]) -> Outputs:
        """Return few outputs: each costs more than what is copied for it to be one of few."""
        if not self.on_host:
            return values, lambda left: left
        vectors, indexes = as_vectors(dict(enumerate(values)))
        shapes = [tuple(value.shape) for value in values]

        def split(left: Sequence[Any]) -> Sequence[Any]:
            found = split_vectors([np.asarray(one) for one in left], indexes, shapes)
            return [found[index] for index in range(len(shapes))]

        return vectors, split

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return (pack_stats(values),)

    def unpack(self, packed: Sequence[Any], infos: Sequence[TensorInfo]) -> Rows:
        return unpack_stats(np.asarray(packed[0]), infos)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        found: Callable[..., Any] = jax.jit(function)
        return found

    def to_numpy(self, value: Any) -> Array:
        return np.asarray(value)


def _first(values: Any) -> Sequence[Any]:
    """Return one of what a step returns, if it returns anything: all is there together."""
    first = next(iter(values.values()), None) if isinstance(values, dict) else None
    return [first] if isinstance(first, jax.Array) else jax.tree.leaves(values)[:1]


def _always(leave: Leave) -> Sequence[Any]:
    return leave()


@contextmanager
def differentiating(trace: StepTrace) -> Iterator[None]:
    """Let what is observed in a differentiated function leave it as one more output."""
    originals = {name: getattr(jax, name) for name in ("value_and_grad", "grad")}

    def value_and_grad(function: Any, argnums: Any = 0, has_aux: bool = False, **named: Any) -> Any:
        tensor_refs: list[TensorRef] = []

        def with_observed(*args: Any, **given: Any) -> Any:
            with trace.within() as observed:
                found = function(*args, **given)
            tensor_refs[:] = [replace(one, value=None) for one in observed]
            value, beside = found if has_aux else (found, None)
            return value, (beside, [one.value for one in observed])

        differentiated = originals["value_and_grad"](with_observed, argnums, has_aux=True, **named)

        def call(*args: Any, **given: Any) -> Any:
            (value, (beside, values)), gradients = differentiated(*args, **given)
            trace.differentiated()
            for tensor_ref, one in zip(tensor_refs, values, strict=True):
                trace.add(replace(tensor_ref, value=one))
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
