"""What stands in the place of ``jax.jit``, ``jax.grad`` and others while a hook is attached.

Each carries what is observed in a function out of it as one more output. Where nobody takes it,
the function of JAX itself is called; what was made in our place goes on after the hook was
detached. Of several hooks the one that was attached last observes.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

import jax

from ...model.record import TensorInfo
from ...model.steps import Mode
from ..patching import PatchSet, calling_first
from .losses import LossFunctions
from .modules import ModuleCalls, function_name
from .packed_stats import GraphPlan, TraceStats
from .remade_states import StateMaking
from .repeats import DRAWS
from .schedules import Schedules

if TYPE_CHECKING:
    from .tracker import Tracker

_attached_trackers: list[Tracker] = []


def active_tracker() -> Tracker | None:
    """Return what observes what runs now, in this process and thread; ``None`` for nothing."""
    return (
        _attached_trackers[-1]
        if _attached_trackers and _attached_trackers[-1].is_observing()
        else None
    )


def activate_tracker(tracker: Tracker) -> bool:
    """Let a tracker observe; return whether it is the first."""
    _attached_trackers.append(tracker)
    return len(_attached_trackers) == 1


def deactivate_tracker(tracker: Tracker) -> bool:
    """Let a tracker observe no more; return whether it was the last."""
    if tracker not in _attached_trackers:
        return False
    _attached_trackers.remove(tracker)
    return not _attached_trackers


Function = Callable[..., Any]


class JittedFunction:
    """A jitted function: one graph as it is, and one that also returns what is observed in it.

    Args:
        options: Of ``jit``.
    """

    def __init__(self, function: Function, jit: Function, options: dict[str, Any]) -> None:
        self._plain = jit(function, **options)
        self._function, self._jit, self._options = function, jit, options
        if "out_shardings" in options:
            self._options = {**options, "out_shardings": (options["out_shardings"], None)}
        self._with_stats: dict[GraphPlan, Function] = {}
        #: What it was used for last.
        self.mode = Mode.TRAIN
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracker = active_tracker()
        if tracker is None:
            return self._plain(*args, **kwargs)
        return tracker.run(self, self._plain, args, kwargs)

    def with_stats(self, plan: GraphPlan) -> Function:
        """Return the graph that also returns what a plan holds."""
        if plan not in self._with_stats:
            self._with_stats[plan] = self._jit(returning_stats(self._function), **self._options)
        return self._with_stats[plan]

    def is_another(self, plan: GraphPlan) -> bool:
        return bool(self._with_stats) and plan not in self._with_stats

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_plain":
            raise AttributeError(name)
        return getattr(self._plain, name)

    def __repr__(self) -> str:
        return repr(self._plain)


def instrumented_jit(jit: Function) -> Function:
    """Return what stands in the place of ``jax.jit``."""

    @functools.wraps(jit)
    def call(*functions: Any, **options: Any) -> Any:
        tracker = active_tracker()
        if not functions:
            return functools.partial(call, **options)
        if tracker is None:
            return jit(*functions, **options)
        return JittedFunction(functions[0], jit, options)

    return call


def instrumented_gradient(transform: Function, value_and_grad: Function) -> Function:
    """Return what stands in the place of ``jax.grad`` or ``jax.value_and_grad``.

    Args:
        value_and_grad: The one of JAX.
    """

    @functools.wraps(transform)
    def differentiated(
        function: Function, argnums: Any = 0, has_aux: bool = False, **options: Any
    ) -> Any:
        plain = transform(function, argnums, has_aux, **options)

        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            tracker = active_tracker()
            if tracker is None:
                return plain(*args, **kwargs)

            def differentiate(args: Any, kwargs: Any) -> Any:
                carried = loss_returning_stats(function, has_aux=has_aux)
                with_stats = value_and_grad(carried, argnums, has_aux=True, **options)
                (loss, (aux, stats)), gradients = with_stats(*args, **kwargs)
                tracker.differentiated(function, argnums, args, kwargs, loss, gradients, stats)
                if transform is value_and_grad:
                    return ((loss, aux) if has_aux else loss), gradients
                return (gradients, aux) if has_aux else gradients

            return tracker.differentiate(differentiate, plain, function, args, kwargs)

        return call

    return differentiated


def instrumented_vmap(vmap: Function) -> Function:
    """Return what stands in the place of ``jax.vmap``."""

    @functools.wraps(vmap)
    def call(fun: Function, in_axes: Any = 0, out_axes: Any = 0, *more: Any, **options: Any) -> Any:
        plain = vmap(fun, in_axes, out_axes, *more, **options)

        @functools.wraps(plain)
        def mapped(*args: Any, **kwargs: Any) -> Any:
            tracker = active_tracker()
            if tracker is None:
                return plain(*args, **kwargs)

            def run() -> Any:
                shared: list[tuple[TensorInfo, Any]] = []
                carried = _returning_members(fun, shared)
                with_stats = vmap(carried, in_axes, (out_axes, 0), *more, **options)
                output, stats = with_stats(*args, **kwargs)
                tracker.mapped(stats, shared)
                return output

            return tracker.run_mapped(run, partial(plain, *args, **kwargs))

        return mapped

    return call


class InstrumentedScan:
    """What stands in the place of ``jax.lax.scan``."""

    def __init__(self, scan: Function) -> None:
        self._scan = scan
        self.mode = Mode.TRAIN
        self._turns: weakref.WeakKeyDictionary[Function, ScanBody] = weakref.WeakKeyDictionary()

    def __call__(self, f: Function, *args: Any, **kwargs: Any) -> Any:
        tracker = active_tracker()
        if tracker is None or kwargs.get("reverse"):
            return self._scan(f, *args, **kwargs)
        return tracker.run(self, self._scan, (f, *args), kwargs)

    def with_stats(self, plan: GraphPlan) -> Function:  # noqa: ARG002  all turns are alike
        """Return a loop that also returns what is observed in its turns."""
        return self._with_stats

    def is_another(self, plan: GraphPlan) -> bool:
        del plan
        return False

    def _with_stats(self, f: Function, *args: Any, **kwargs: Any) -> Any:
        carry, (outputs, stats) = self._scan(self._turn(f), *args, **kwargs)
        return (carry, outputs), stats.as_loop()

    def _turn(self, f: Function) -> ScanBody:
        # JAX knows a body that it has compiled by its identity.
        turn = self._turns.get(f)
        if turn is None or turn.__wrapped__ is not f:
            turn = self._turns[f] = ScanBody(f)
        return turn


class ScanBody:
    """The body of a loop, with what is observed in it as part of what each turn returns.

    It does not keep the function alive, nor what that closes over: who runs the loop does.

    Args:
        function: What the user has written.
    """

    def __init__(self, function: Function) -> None:
        self._function = weakref.ref(function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    @property
    def __wrapped__(self) -> Function | None:
        """The function; JAX names its arguments and its line of the script in errors."""
        return self._function()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function()
        assert function is not None, "whoever runs the loop holds its body"
        with _collecting(in_loop=True) as stats:
            carry, output = function(*args, **kwargs)
        return carry, (output, stats())


class CheckpointedFunction:
    """A function whose intermediate values are computed again, as ``jax.checkpoint`` makes it.

    Args:
        function: What is computed.
        checkpoint: That of JAX.
    """

    def __init__(self, function: Function, checkpoint: Function, options: dict[str, Any]) -> None:
        self._plain = checkpoint(function, **options)
        self._carrying: Function = checkpoint(returning_stats(function), **options)
        self.mode = Mode.TRAIN
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracker = active_tracker()
        if tracker is None or not tracker.is_collecting:
            return self._plain(*args, **kwargs)
        return tracker.run(self, self._plain, args, kwargs)

    def with_stats(self, plan: GraphPlan) -> Function:  # noqa: ARG002  it is traced with its caller
        """Return the function that also returns what is observed in it."""
        return self._carrying

    def is_another(self, plan: GraphPlan) -> bool:
        del plan
        return False

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def instrumented_checkpoint(checkpoint: Function) -> Function:
    """Return what stands in the place of ``jax.checkpoint``."""

    @functools.wraps(checkpoint)
    def call(*functions: Any, **options: Any) -> Any:
        if not functions:
            return functools.partial(call, **options)
        return CheckpointedFunction(functions[0], checkpoint, options)

    return call


def returning_stats(function: Function) -> Function:
    """Return a function that also returns what is observed in it."""

    @functools.wraps(function, updated=())
    def carried(*args: Any, **kwargs: Any) -> Any:
        with _collecting() as stats:
            output = function(*args, **kwargs)
        return output, stats()

    return carried


def _returning_members(function: Function, shared: list[tuple[TensorInfo, Any]]) -> Function:
    """Return a function that also returns what is observed in it, where it is mapped.

    Args:
        shared: What is the same for all members is put here.
    """

    @functools.wraps(function, updated=())
    def carried(*args: Any, **kwargs: Any) -> Any:
        tracker = active_tracker()
        if tracker is None:
            return function(*args, **kwargs), TraceStats()
        with tracker.collecting(is_mapped=True) as collector:
            output = function(*args, **kwargs)
            stats = tracker.closed(collector)
        shared.extend(collector.shared)
        return output, stats

    return carried


def loss_returning_stats(function: Function, *, has_aux: bool) -> Function:
    """Return a function to be differentiated, with what is observed in it as part of its aux."""

    @functools.wraps(function, updated=())
    def carried(*args: Any, **kwargs: Any) -> Any:
        with _collecting(function=function_name(function)) as stats:
            output = function(*args, **kwargs)
        if not has_aux:
            return output, (None, stats())
        if not isinstance(output, tuple) or len(output) != 2:
            return output  # JAX raises the error
        return output[0], (output[1], stats())

    return carried


@contextmanager
def _collecting(*, in_loop: bool = False, function: str = "") -> Iterator[Callable[[], TraceStats]]:
    """Collect what is observed inside; yield what returns it, to be called on the same level."""
    tracker = active_tracker()
    if tracker is None:
        yield TraceStats
        return
    with tracker.collecting(in_loop=in_loop, function=function) as collector:
        yield lambda: tracker.closed(collector)


def _drawn(name: str, *args: Any, **kwargs: Any) -> None:
    tracker = active_tracker()
    if tracker is not None and args:
        tracker.drawn(name, args, kwargs)


def _state_made() -> None:
    tracker = active_tracker()
    if tracker is not None:
        tracker.state_made()


class Patches:
    """Replaces what makes functions out of functions; made once for all hooks."""

    def __init__(self) -> None:
        self.modules = ModuleCalls(active_tracker)
        self._schedules, self._losses = Schedules(active_tracker), LossFunctions(active_tracker)
        self._states = StateMaking(_state_made)
        self._replaced = PatchSet()

    def put(self) -> None:
        value_and_grad = jax.value_and_grad
        replacements: list[tuple[Any, str, Callable[[Any], Any]]] = [
            (jax, "jit", instrumented_jit),
            (jax, "grad", lambda transform: instrumented_gradient(transform, value_and_grad)),
            (jax, "value_and_grad", lambda transform: instrumented_gradient(transform, transform)),
            (jax, "vmap", instrumented_vmap),
            (jax, "checkpoint", instrumented_checkpoint),
            (jax, "remat", instrumented_checkpoint),
            (jax.lax, "scan", InstrumentedScan),
            *((jax.random, name, calling_first(partial(_drawn, name))) for name in DRAWS),
        ]
        for module, name, make in replacements:
            self._replaced.put(module, name, make)
        self.modules.wrap()
        self._schedules.wrap()
        self._losses.wrap()
        self._states.wrap()

    def remove(self) -> None:
        """Put back, but for what somebody else has replaced since."""
        self._replaced.remove()
        self.modules.remove()
        self._schedules.remove()
        self._losses.remove()
        self._states.remove()


#: Those of this process.
PATCHES = Patches()
