"""From what JAX calls and traces to observations, each kept on the level of tracing it is of."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import jax
from jax.extend.core import get_opaque_trace_state

from ...capture.guard import guarded
from ...capture.recorder import Recorder
from ...steps import Mode
from .choices import Choice, Choices
from .collector import Collector, readable_infos
from .modules import ModuleCalls, ModulePaths, tensors_in
from .names import ParameterNames, argument_names, function_name
from .seen import Seen
from .steps import Steps
from .words import is_readable

Function = Callable[..., Any]


class Carrier(Protocol):
    """A function that can also return what is seen in it."""

    mode: Mode

    def seeing(self, choice: Choice) -> Function:
        """Return the function that returns its output and ``Seen``."""


class Tracker:
    """Is told what runs and what is traced.

    Args:
        recorder: Who takes the steps.
        steps: Where what was seen goes.
        module_calls: Tells of calls of modules.
        detach: Lets go of JAX.
        strict: Raise our own failures into training.
    """

    def __init__(
        self,
        recorder: Recorder,
        steps: Steps,
        module_calls: ModuleCalls,
        detach: Callable[[], None],
        *,
        strict: bool,
    ) -> None:
        self.strict, self.failure, self.detach = strict, "", detach
        self._recorder, self._steps, self._module_calls = recorder, steps, module_calls
        #: Whether it looks away for a moment.
        self.is_paused = False
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._top = get_opaque_trace_state()
        self._stack: list[Collector] = []
        self._running: list[Any] = []
        self._paths: dict[int, str] = {}
        self._choices = Choices()
        self._choice = Choice(recorder.new_step(Mode.TRAIN))
        self.names, self.modules = ParameterNames(), ModulePaths()
        #: All parameters with regard to which something was differentiated: ``None`` for what
        #: was captured, else why it was not.
        self.parameters: dict[str, str | None] = {}
        #: What was differentiated where it cannot be seen.
        self.unseen: dict[str, None] = {}

    def is_looking(self) -> bool:
        """Return whether this is the process and the thread that is looked at."""
        if self.is_paused:
            return False
        return self._thread == threading.get_ident() and self._process == os.getpid()

    # Calls

    @property
    def is_collecting(self) -> bool:
        """Whether what is computed now can be collected."""
        return bool(self._stack) and self._stack[-1].is_here

    def run(self, carrier: Carrier, plain: Function, args: Any, kwargs: Any) -> Any:
        """Call a function and take what is seen in it; call the plain one where nobody can."""
        if self.is_collecting:
            collector = self._stack[-1]
            output, seen = carrier.seeing(collector.choice)(*args, **kwargs)
            collector.add(seen)
            return output
        if not self._is_outermost():
            return plain(*args, **kwargs)
        self._choose(carrier.mode)
        output, seen = carrier.seeing(self._choice)(*args, **kwargs)
        carrier.mode = self._steps.take(seen) or carrier.mode
        return output

    def differentiate(
        self, seeing: Function, plain: Function, function: Function, args: Any, kwargs: Any
    ) -> Any:
        """Differentiate a function where it can be seen, and else as JAX does."""
        if self.is_collecting:
            return seeing(args, kwargs)
        if not self._is_outermost():
            self.unseen[function_name(function)] = None
            return plain(*args, **kwargs)
        return self._run_openly(Mode.TRAIN, lambda: seeing(args, kwargs))

    def run_module(self, run: Function, module: Any, args: Any, kwargs: Any) -> Any:
        """Call a module of NNX and look at what it returns."""
        if self._running and self._running[-1] is module:
            return run(module, *args, **kwargs)  # that of its base class
        if self.is_collecting:
            return self._module(run, module, args, kwargs)
        if not self._is_outermost():
            return run(module, *args, **kwargs)
        return self._run_openly(Mode.EVAL, lambda: self._module(run, module, args, kwargs))

    def _run_openly(self, mode: Mode, run: Callable[[], Any]) -> Any:
        """Call what is not compiled."""
        self._choose(mode)
        with self.collecting() as collector:
            output = run()
            seen = self.closed(collector)
        self._steps.take(seen)
        return output

    def _is_outermost(self) -> bool:
        return not self._stack and bool(self._top == get_opaque_trace_state())

    def _choose(self, mode: Mode) -> None:
        """A call begins that is no part of another one."""
        self._steps.before_call()
        self._choice = self._choices.at(self._recorder.new_step(self._steps.mode or mode))

    # Collecting

    @contextmanager
    def collecting(self, *, in_loop: bool = False) -> Iterator[Collector]:
        """Collect what is observed on this level of tracing."""
        around = self._stack[-1] if self._stack else None
        if around is None:
            self._look_for_modules()
        choice = around.choice if around else self._choice
        collector = Collector(choice, in_loop=in_loop or bool(around and around.in_loop))
        self._stack.append(collector)
        try:
            yield collector
        finally:
            self._stack.remove(collector)

    @guarded
    def _look_for_modules(self) -> None:
        self._module_calls.wrap()

    def closed(self, collector: Collector) -> Seen:
        """Return what was collected; nothing if that failed."""
        return self._closed(collector) or Seen()

    @guarded
    def _closed(self, collector: Collector) -> Seen:
        return collector.close()

    @guarded
    def differentiated(
        self, function: Function, argnums: Any, args: Any, loss: Any, gradients: Any, seen: Seen
    ) -> None:
        """A function was differentiated."""
        collector = self._stack[-1]
        collector.add(seen)
        collector.trains = True
        single = not isinstance(argnums, (tuple, list))
        numbers = (argnums,) if single else argnums
        named = argument_names(function, numbers)
        given = {name: args[number] for name, number in zip(named, numbers, strict=True)}
        found = dict(zip(named, (gradients,) if single else gradients, strict=True))
        parameters = self.names.of(function, given, collector.observed)
        slopes = self.names.of(function, found, {})
        for name in parameters:
            known = all(is_readable(tree.get(name, 0)) for tree in (parameters, slopes))
            self.parameters[name] = None if known else "of a dtype without statistics"
        new = {n: v for n, v in parameters.items() if collector.observed.get(n) is not v}
        self._observe(collector, "weights", new, trainable=True)
        self._observe(collector, "losses", {f"loss/{function_name(function)}": loss})
        gradient = {f"gradient/{name}": value for name, value in slopes.items()}
        self._observe(collector, "gradients", gradient)

    @guarded
    def observe(self, name: str, kind: str, value: Any) -> bool:
        """Observe something of the user's that is computed now; return whether it could be."""
        if self.is_collecting:
            self._observe(self._stack[-1], kind, {name: jax.numpy.asarray(value)})
            return True
        if isinstance(value, jax.core.Tracer):
            self.unseen[name] = None
            return True
        return False

    @guarded
    def _observe(
        self, collector: Collector, kind: str, values: Any, *, trainable: bool | None = None
    ) -> None:
        readable = {name: value for name, value in values.items() if is_readable(value)}
        infos = readable_infos(list(readable), kind, list(readable.values()), trainable=trainable)
        for info, value in zip(infos, readable.values(), strict=True):
            collector.observe(info, value)

    # Modules

    def _module(self, run: Function, module: Any, args: Any, kwargs: Any) -> Any:
        if not self._running:
            self._enter(module)
        self._running.append(module)
        try:
            output = run(module, *args, **kwargs)
        finally:
            self._running.pop()
        self._returned(module, output)
        return output

    @guarded
    def _enter(self, model: Any) -> None:
        self._paths = self.modules.inside(model)

    @guarded
    def _returned(self, module: Any, output: Any) -> None:
        name = self._paths.get(id(module))
        if name is not None:
            self.modules.reasons[name] = None
            self._observe(self._stack[-1], "outputs", tensors_in(name, output))
