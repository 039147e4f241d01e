"""From the calls that JAX runs and traces to observations, each in the step it belongs to.

Each call that computes gradients and is no part of another call is a TRAIN step, and each other
one in which modules ran an EVAL step. JAX returns before it has computed: what a call observed is
read once the next one was handed over, so that the device never waits for us. A step is open until
then, and what a script saves meanwhile belongs to it. What is observed while a function is traced
is kept on its level of tracing.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import jax
import numpy as np
from jax.extend.core import get_opaque_trace_state

from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, STATISTICS
from ...capture.recorder import Recorder
from ...model.record import Layout, TensorInfo
from ...model.steps import Mode
from ...numerics.statistics import summarize
from ..base import own_time, timed
from ..epoch_loops import LEAST_REMADE
from ..evidence import Evidence
from ..frozen_numbers import FrozenNumbers
from ..losses import LossCall, mean_loss
from ..nearest import NearestSamples
from ..observations import DEPENDENCE
from ..terminals import forgotten_ends, has_ends, unread_ends
from .constant_draws import draws_same_for_batch
from .given_batches import GivenBatches
from .graphs import compared_in_graph, positions_ahead, softmax_over_rows
from .layers import LayerRun, Layers, in_evaluation
from .losses import batches, model_batches
from .members import copies_much, merged_members
from .modules import (
    ModuleCalls,
    ModulePaths,
    ParameterNames,
    argument_names,
    function_name,
    tensors_in,
)
from .packed_stats import (
    Collector,
    GraphPlan,
    GraphPlans,
    ScalarPlaces,
    TraceStats,
    TraceStep,
    is_readable,
    on_host,
    trace_steps,
)
from .remade_states import RemadeStates
from .repeats import KEY, LEAST_CALLS, RepeatedArguments
from .running_statistics import num_unfilled

# What belongs to the step before, where a call has nothing else: an update may be one of its own.
_BESIDE = frozenset({"scalars", "tensors", "learning_rates"})
_COMPARED = ("prediction", "label")
# Of so many graphs it is remembered where numbers are.
_MOST_GRAPHS = 16
# A loss is the mean of what its function returns if it is that within this fraction.
_SAME_LOSS = 1e-4


class Steps:
    """Knows to which step belongs what was observed.

    Args:
        on_end: Called after each step with its mode.
        stop_if_requested: Called before each call that is no part of another; what it raises
            reaches the training.
    """

    def __init__(
        self,
        recorder: Recorder,
        on_end: Callable[[Mode], None],
        stop_if_requested: Callable[[], None],
        detach: Callable[[], None],
        *,
        strict: bool,
    ) -> None:
        self.strict, self.failure, self.detach = strict, "", detach
        self._recorder, self._on_end, self._stop_if_requested = recorder, on_end, stop_if_requested
        self.budget = recorder.budget
        #: The mode that the user set; else it is derived.
        self.mode: Mode | None = None
        self.last_mode = Mode.TRAIN
        self._pending: list[TraceStats] = []
        self._is_one = False
        self._evidence = Evidence(set(), NearestSamples())
        # Of each loss whose function is known, whether it is that function's mean.
        self._is_plain: dict[str, bool] = {}
        # By what was observed in a step the layout of what is stored of it.
        self._layouts: dict[tuple[TensorInfo, ...], Layout] = {}
        # By the ``id`` of what a graph observes, which it holds.
        self._places: dict[int, ScalarPlaces] = {}

    def before_call(self) -> None:
        """A call begins that is no part of another."""
        self._stop_if_requested()

    @contextmanager
    def one(self, mode: Mode) -> Iterator[None]:
        """Make one step of all calls inside."""
        self.settle()
        before, self.mode, self.last_mode = self.mode, mode, mode
        self._is_one = True
        try:
            yield
        finally:
            self.mode, self._is_one = before, False

    def take(self, stats: TraceStats, step: OpenStep) -> Mode | None:
        """Take what a call observed, and read what the one before did; return its mode.

        Args:
            step: The step that this opens, if it does, as it was planned.
        """
        if not stats:
            return None
        is_beside = stats.kinds <= _BESIDE and not stats.runs
        if not self._is_one and not (self._pending and is_beside):
            self.settle()
            self.last_mode = self.mode or (Mode.TRAIN if stats.trains else Mode.EVAL)
        return self._add(stats, step)

    @timed
    @guarded
    def add_compared(self, name: str, number: int) -> None:
        """Add to the open step with how many targets a loss compares each prediction."""
        step = self._recorder.open_step(self.last_mode)
        found = np.full(len(DEPENDENCE), -1, np.float32)  # the others are not known
        found[DEPENDENCE.index("compared")] = number
        info = TensorInfo(f"dependence/{name}", "dependence", "float32", found.shape)
        level = step.level(info)
        if level != NOTHING:
            step.claim(info)[:] = summarize(found)
            step.add_more(info, found, level)

    def add_number(self, name: str, collection: str, value: float) -> None:
        """Add a number to the open step, if it is wanted there."""
        step = self._recorder.open_step(self.last_mode)
        info = TensorInfo(name, collection, "float64", ())
        level = step.level(info)
        if level != NOTHING:
            step.add(info, np.asarray(value), level)

    def settle(self) -> None:
        """Read what is waiting, and end the step that it belongs to."""
        self._wait()
        self._settle()

    @timed
    @guarded
    def _add(self, stats: TraceStats, step: OpenStep) -> Mode:
        if step.mode is self.last_mode and not self._recorder.is_open(self.last_mode):
            self._recorder.move(step, self.last_mode)
        self._recorder.open_step(self.last_mode)  # what is saved from here on belongs to it
        self._pending.append(stats)
        return self.last_mode

    @guarded
    def _wait(self) -> None:
        """Wait for what the last call computes, which is the time of the training."""
        # All is there together.
        last = self._pending[-1].flat[:1] if self._pending else ()
        jax.block_until_ready(last or jax.tree.leaves(self._pending[-1:])[:1])

    @timed
    @guarded
    def _settle(self) -> None:
        pending, self._pending = self._pending, []
        if len(pending) == 1 and self._is_usual(pending[0]):
            self._on_end(self.last_mode)
            return
        since = perf_counter()
        for number, stats in enumerate(pending):
            *before, last = trace_steps(on_host(stats))
            if before:
                self.budget.come_at_once(len(before) + 1)
            for parts in before:
                self._fill(parts)
                # All turns of a loop come at once: what each takes is told before it ends.
                now = perf_counter()
                self.budget.spent_s, since = self.budget.spent_s + now - since, now
                self._end()
            self._fill(last)
            if number == len(pending) - 1:
                self._end()

    def forget(self) -> None:
        self._pending = []

    def _is_usual(self, stats: TraceStats) -> bool:
        """Hand on a TRAIN step of which a few numbers alone were observed; else return ``False``.

        Most steps are such, and to fill an open step would cost more than these are worth.
        """
        mode, recorder = self.last_mode, self._recorder
        step = recorder.opened.get(mode)
        if mode is not Mode.TRAIN or step is None or not step.has_only_losses or len(step):
            return False
        places = self._places.get(id(stats.infos))
        if places is None:
            if len(self._places) >= _MOST_GRAPHS:  # a function that is not compiled has new ones
                self._places.clear()
            places = self._places[id(stats.infos)] = ScalarPlaces(stats, self.budget.may_keep)
        scalars = places.read(stats, step.wants)
        if not scalars or not all(
            step.level(info) == STATISTICS and math.isfinite(value) for info, value in scalars
        ):
            return False
        infos, values = zip(*scalars, strict=True)
        if infos not in self._layouts:
            known = [self._as_computed(info, {info.name: value}) for info, value in scalars]
            self._layouts[infos] = Layout(tuple(known))
        recorder.move(None, mode)
        recorder.profiler.phases.skip()
        recorder.take_scalars(self._layouts[infos], values)
        return True

    def _fill(self, parts: list[TraceStep]) -> None:
        step = self._recorder.open_step(self.last_mode)
        values = {
            part.infos[index].name: value for part in parts for index, value in part.values.items()
        }
        for part in parts:
            for index, known in enumerate(part.infos):
                if not step.wants(known.collection):
                    continue
                info = self._as_computed(known, values)
                level = step.level(info)
                if level != NOTHING and index not in part.statistics:
                    step.add(info, part.values[index], level)
                    continue
                if level != NOTHING:
                    step.add_statistics(info, part.statistics[index])
                if level > STATISTICS and index in part.values:
                    step.add_more(info, part.values[index], level)
        if not step.has_only_losses:
            self._add_evidence(step, parts, values)

    def _as_computed(self, info: TensorInfo, values: Mapping[str, Any]) -> TensorInfo:
        """Return a loss without its function where more than that makes it, such as a penalty."""
        if info.collection != "losses" or not info.function:
            return info
        name = info.name.partition("/")[2]
        if name not in self._is_plain:
            prediction, label = (values.get(f"{what}/{name}") for what in _COMPARED)
            call, mean = LossCall(info.function, prediction, label), math.nan
            if prediction is not None and label is not None:
                mean = mean_loss(call, prediction, label)
            loss = float(values.get(info.name, math.nan))
            self._is_plain[name] = math.isclose(mean, loss, rel_tol=_SAME_LOSS)
        return info if self._is_plain[name] else replace(info, function="")

    def _add_evidence(
        self, step: OpenStep, parts: list[TraceStep], values: Mapping[str, Any]
    ) -> None:
        """Add what rules need of samples and losses beyond statistics, where values are at hand."""
        infos = [info for part in parts for info in part.infos]
        calls = {
            info.name.partition("/")[2]: LossCall(info.function, None, None)
            for info in infos
            if info.collection == "predictions"
        }
        given = [info.name for info in infos if info.collection == "batches"]
        self._evidence.losses(step, calls, values.get)
        self._evidence.samples(step, given, values.get)
        self._evidence.targets(step, calls, given, None, values.get)
        self._evidence.padding(step, calls, given, values.get)

    def _end(self) -> None:
        self._recorder.end_step(self.last_mode)
        self._on_end(self.last_mode)


Function = Callable[..., Any]


class InstrumentedFunction(Protocol):
    """A function that can also return what is observed in it."""

    mode: Mode

    def with_stats(self, plan: GraphPlan) -> Function:
        """Return the function that returns its output and ``TraceStats``."""

    def is_another(self, plan: GraphPlan) -> bool:
        """Return whether this is compiled once more, for a plan."""


# What people call the advantages that the loss of a policy is given.
_ADVANTAGES = re.compile(r"(\w+_)?(gae|adv(antage)?)s?", re.IGNORECASE)


def _rows_of(args: Any, kwargs: Any) -> frozenset[int]:
    """Return how many samples a call may be given: the first sizes that two arrays or more have."""
    shapes = [getattr(one, "shape", ()) for one in jax.tree.leaves((args, kwargs))]
    counts = Counter(shape[0] for shape in shapes if shape)
    return frozenset(size for size, count in counts.items() if count > 1)


class Tracker:
    """Observes what runs and what is traced."""

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
        self.budget = recorder.budget
        #: Whether it is paused.
        self.is_paused = False
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._top = get_opaque_trace_state()
        self._stack: list[Collector] = []
        self._running: list[Any] = []
        self._paths: dict[int, str] = {}
        self._plans = GraphPlans()
        self._plan = GraphPlan(recorder.new_step(Mode.TRAIN))
        self.names, self.modules = ParameterNames(), ModulePaths()
        self._layers = Layers(self)
        # Of each function that is differentiated, by which one its loss is computed.
        self._functions: dict[str, str] = {}
        #: What functions that train are given.
        self.arguments = RepeatedArguments()
        self._given = GivenBatches()
        self._remade = RemadeStates()
        self._frozen = FrozenNumbers()
        # What the graphs of functions that train have of mistakes, by their names.
        self._in_graphs: dict[str, list[str]] = {}
        #: All parameters with regard to which something was differentiated: ``None`` for what
        #: was captured, else why it was not.
        self.parameters: dict[str, str | None] = {}
        #: What was differentiated where it cannot be observed.
        self.unobserved: dict[str, None] = {}

    def is_observing(self) -> bool:
        """Return whether this is the process and the thread that is observed."""
        if self.is_paused:
            return False
        return self._thread == threading.get_ident() and self._process == os.getpid()

    # Calls

    @property
    def is_collecting(self) -> bool:
        """Whether what is computed now can be collected."""
        return bool(self._stack) and self._stack[-1].is_here

    def run(self, carrier: InstrumentedFunction, plain: Function, args: Any, kwargs: Any) -> Any:
        """Call a function and take what is observed in it; where nothing can be, the plain one."""
        if self.is_collecting:
            collector = self._stack[-1]
            if collector.is_mapped and copies_much((args, kwargs)):
                self.unobserved[function_name(plain)] = None
                return plain(*args, **kwargs)
            output, stats = carrier.with_stats(collector.plan)(*args, **kwargs)
            collector.add(stats)
            return output
        if not self._is_outermost():
            return plain(*args, **kwargs)
        self._choose_plan(carrier.mode, is_compiled=True)
        step, plan = self._plan.step, self._plan
        compared = None
        if not step.has_only_losses:
            compared = self._compared(carrier, step, args, kwargs)
        function = str(getattr(carrier, "__name__", "function"))
        if self._remade.is_made:
            self._look_for_remade(function, args, kwargs)
        began = perf_counter()
        is_another = carrier.is_another(self._plan)
        if is_another or carrier not in self._frozen:
            self._note_traced(carrier)
        if is_another:
            with own_time(self.budget):  # the training alone would compile it once
                output, stats = carrier.with_stats(self._plan)(*args, **kwargs)
        else:
            output, stats = carrier.with_stats(self._plan)(*args, **kwargs)
        plan.ran(carrier, perf_counter() - began, stats)
        carrier.mode = self._steps.take(stats, step) or carrier.mode
        if self._remade.is_open:
            self._add_remade(function, output, trains=stats.trains)
        if stats.trains:
            self.arguments.trained()
            if not step.has_only_losses:
                self._add_frozen(carrier)
            if self.arguments.looks_at(function):
                self._add_arguments(function, carrier, args, kwargs, output)
                self._look_at_graph(function, carrier, args, kwargs, output)
                self._add_unread_ends(carrier, args, kwargs)
        elif self.arguments.looks_at(function):
            self._add_evaluated(function, carrier, args, kwargs, output)
        if compared is not None:
            self._steps.add_compared(*compared)
        return output

    @timed
    @guarded
    def _add_arguments(
        self, function: str, carrier: InstrumentedFunction, args: Any, kwargs: Any, output: Any
    ) -> None:
        """Note whether a function that trains is given the same key, or state, again and again."""
        graph = partial(self._graph, carrier, args, kwargs)
        for kind, count in self.arguments.add(function, args, kwargs, graph):
            self._note_same(kind, function, count)
        for name, count in self._given.trained(args, kwargs, output):
            if count >= LEAST_CALLS:
                self._note_same(KEY, name, count)

    @timed
    @guarded
    def _look_at_graph(
        self, function: str, carrier: InstrumentedFunction, args: Any, kwargs: Any, output: Any
    ) -> None:
        """Note whether a function that trains lays the same noise over each batch.

        Or takes a softmax over the samples, or lets each token look at later ones.
        """
        if function not in self._in_graphs:
            graph = self._graph(carrier, args, kwargs)
            number = len(jax.tree.leaves(output))
            found = self._in_graphs.setdefault(function, [])
            if graph is not None and draws_same_for_batch(graph, number):
                found.append("same_noise")
            if graph is not None and softmax_over_rows(graph, _rows_of(args, kwargs)):
                found.append("over_samples")
            with suppress(Exception):  # what computes its constants may be of any kind
                if graph is not None and positions_ahead(graph):
                    found.append("ahead")
        for what in self._in_graphs[function]:
            self._steps.add_number(f"setup/{what}/{function}", "setup", 1.0)

    @guarded
    def state_made(self) -> None:
        """The script asks an optimizer of optax for a state."""
        if self._is_outermost():
            self._remade.made()

    @timed
    @guarded
    def _look_for_remade(self, function: str, args: Any, kwargs: Any) -> None:
        """Look whether a function is about to be given a state that was made anew."""
        self._remade.given(function, args, kwargs)

    @timed
    @guarded
    def _add_remade(self, function: str, output: Any, *, trains: bool) -> None:
        """Note what a call returned, and whether states are made anew in each epoch."""
        self._remade.returned(function, output, trains=trains)
        if trains and self._remade.count >= LEAST_REMADE:
            self.budget.observe_next_in_full("remade")
            name = f"setup/remade/{function}"
            self._steps.add_number(name, "setup", float(self._remade.count))

    @timed
    @guarded
    def _note_traced(self, carrier: Any) -> None:
        """Note which numbers a function reads that is about to be traced."""
        with suppress(Exception):  # a function of whatever kind
            self._frozen.traced(carrier, carrier)

    @timed
    @guarded
    def _add_frozen(self, carrier: Any) -> None:
        """Note numbers that a function has read, and that are others now."""
        with suppress(Exception):  # a function of whatever kind
            for name in self._frozen.changed(carrier, carrier):
                self._steps.add_number(f"setup/frozen_number/{name}", "setup", 1.0)

    @timed
    @guarded
    def _add_unread_ends(self, carrier: InstrumentedFunction, args: Any, kwargs: Any) -> None:
        """Note flags that say where episodes have ended, which no function of the script reads."""
        function: Any = carrier
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            return
        # Within compiled functions nobody sees whether an episode ends.
        found = [f"value/unread_ends/the script/{one}" for one in forgotten_ends(code.co_filename)]
        given = dict(zip(code.co_varnames[: code.co_argcount], args, strict=False)) | kwargs
        found += [
            f"value/unread_ends/{one.function}/{one.name}"
            for one in unread_ends(code, is_alone=False)
            if has_ends(one.value(given))
        ]
        for name in found:
            self.budget.observe_next_in_full("unread_ends")
            self._steps.add_number(name, "policy", 1.0)

    @timed
    @guarded
    def _add_evaluated(
        self, function: str, carrier: InstrumentedFunction, args: Any, kwargs: Any, output: Any
    ) -> None:
        """Note whether what trains nothing is given statistics of a new layer, or more samples."""
        self.arguments.looked_at(function)
        self._given.drawn(
            function, args, kwargs, output, partial(self._graph, carrier, args, kwargs)
        )
        evaluated = self._given.evaluated(args, kwargs)
        if evaluated:
            self._steps.add_number("evaluation/samples", "evaluations", float(evaluated))
        trace = getattr(carrier.with_stats(self._plan), "trace", None)
        number = num_unfilled(args, kwargs, trace, self._layers.listed)
        if number:
            name = "evaluation/modules_unfilled"
            self._steps.add_number(name, "evaluations", float(number))

    @timed
    @guarded
    def drawn(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note whether the script draws the same at each step, outside of what it jits."""
        if not self._is_outermost():
            return
        count = self.arguments.draw(name, args, kwargs)
        if count >= LEAST_CALLS:
            self._note_same(KEY, name, count)

    def _note_same(self, kind: str, function: str, count: int) -> None:
        self.budget.observe_next_in_full(kind)
        self._steps.add_number(f"setup/{kind}/{function}", "setup", float(count))

    @timed
    @guarded
    def _compared(
        self, carrier: InstrumentedFunction, step: OpenStep, args: Any, kwargs: Any
    ) -> tuple[str, int] | None:
        """Return with how many targets a written loss compares each prediction, and its function.

        The graph is that which is about to run: it is traced once.
        """
        if step.mode is not Mode.TRAIN or not step.wants("dependence"):
            return None
        graph = self._graph(carrier, args, kwargs)
        number = None if graph is None else compared_in_graph(graph)
        return None if number is None else (str(getattr(carrier, "__name__", "loss")), number)

    def _graph(self, carrier: InstrumentedFunction, args: Any, kwargs: Any) -> Any | None:
        """Return the graph that a function runs; ``None`` if it is not known."""
        trace = getattr(carrier.with_stats(self._plan), "trace", None)
        try:
            return None if trace is None else trace(*args, **kwargs).jaxpr.jaxpr
        except Exception:  # noqa: BLE001  of what the script does wrong its own call tells
            return None

    def differentiate(
        self, with_stats: Function, plain: Function, function: Function, args: Any, kwargs: Any
    ) -> Any:
        """Differentiate a function where it can be observed, and else as JAX does."""
        if self.is_collecting:
            return with_stats(args, kwargs)
        if not self._is_outermost():
            self.unobserved[function_name(function)] = None
            return plain(*args, **kwargs)
        return self._run_openly(Mode.TRAIN, lambda: with_stats(args, kwargs))

    def run_mapped(self, run: Callable[[], Any], plain: Callable[[], Any]) -> Any:
        """Call a function that ``jax.vmap`` maps, and observe it where it can be."""
        if self.is_collecting:
            return run()
        return self._run_openly(Mode.EVAL, run) if self._is_outermost() else plain()

    @timed
    @guarded
    def mapped(self, stats: TraceStats, shared: Sequence[tuple[TensorInfo, Any]]) -> None:
        """Observe what was observed in a function that is mapped.

        Args:
            stats: With one axis more in front of all arrays.
            shared: What is the same for all members.
        """
        collector = self._stack[-1]
        collector.add(merged_members(stats))
        for info, value in shared:
            collector.observe(info, value)

    def run_module(self, run: Function, module: Any, args: Any, kwargs: Any) -> Any:
        """Call a module of NNX and observe what it returns."""
        if self._running and self._running[-1] is module:
            return run(module, *args, **kwargs)  # that of its base class
        if self.is_collecting:
            return self._module(run, module, args, kwargs)
        if not self._is_outermost():
            return run(module, *args, **kwargs)
        return self._run_openly(Mode.EVAL, lambda: self._module(run, module, args, kwargs))

    def _run_openly(self, mode: Mode, run: Callable[[], Any]) -> Any:
        self._choose_plan(mode, is_compiled=False)
        step = self._plan.step
        with self.collecting() as collector:
            output = run()
            stats = self.closed(collector)
        self._steps.take(stats, step)
        return output

    def _is_outermost(self) -> bool:
        return not self._stack and bool(self._top == get_opaque_trace_state())

    def _choose_plan(self, mode: Mode, *, is_compiled: bool) -> None:
        """A call begins that is no part of another one."""
        self._steps.before_call()
        self._find_plan(mode, is_compiled=is_compiled)

    @timed
    def _find_plan(self, mode: Mode, *, is_compiled: bool) -> None:
        step = self._recorder.new_step(self._steps.mode or mode)
        self._plan = self._plans.at(step, is_compiled=is_compiled)

    # Collecting

    @contextmanager
    def collecting(
        self, *, in_loop: bool = False, function: str = "", is_mapped: bool = False
    ) -> Iterator[Collector]:
        """Collect what is observed on this level of tracing.

        Args:
            in_loop: Whether it is the body of a loop.
            function: The name of the function that is differentiated, if it is one.
            is_mapped: Whether it is a function that ``jax.vmap`` maps.
        """
        around = self._stack[-1] if self._stack else None
        if around is None:
            self._find_modules()
        plan = around.plan if around else self._plan
        if around is not None and not in_loop:
            function = function or around.function
        in_loop = in_loop or bool(around and around.in_loop)
        collector = Collector(plan, in_loop=in_loop, function=function, is_mapped=is_mapped)
        self._stack.append(collector)
        is_inner = around is not None and bool(around.function)
        try:
            with ExitStack() as stack:
                if function and not is_inner:
                    self._listen(stack)
                yield collector
        finally:
            self._stack.remove(collector)
            if around is not None:
                around.labels += collector.labels
                around.weights = around.weights or collector.weights

    @guarded
    def _listen(self, stack: ExitStack) -> None:
        self._layers.listen(stack)

    @guarded
    def _find_modules(self) -> None:
        self._module_calls.wrap()

    def closed(self, collector: Collector) -> TraceStats:
        """Return what was collected; nothing if that failed."""
        return self._closed(collector) or TraceStats()

    @timed
    @guarded
    def _closed(self, collector: Collector) -> TraceStats:
        is_one = len(collector.losses) == 1 and "predictions" not in collector.kinds
        if is_one and collector.function and not collector.only_losses:
            self._compares(collector, collector.losses[0])
        modes = collector.modes
        if modes and collector.function and "loop" not in collector.kinds:
            numbers = {"loop/modules": len(modes), "loop/modules_in_eval": sum(modes)}
            known = {name: jax.numpy.float32(number) for name, number in numbers.items()}
            self._observe(collector, "loop", known)
        return collector.close()

    def _compares(self, collector: Collector, call: LossCall) -> None:
        """Observe what a loss compares; of a function with several nobody knows which counts."""
        for what, kind, value, arranged in call.given:
            array = jax.numpy.asarray(value)
            if kind == "labels":
                collector.labels.append(array)
            array = arranged.value(array)
            named = {f"{what}/{collector.function}": array}
            self._observe(collector, kind, named, function=call.function)
        self._functions[collector.function] = call.computed_by

    @property
    def is_differentiating(self) -> bool:
        if not self.is_collecting:
            return False
        collector = self._stack[-1]
        return bool(collector.function) and not collector.only_losses

    @guarded
    def begins(self, given: Sequence[Any], weights: Sequence[str] = ()) -> None:
        """Observe what a model is called with."""
        if self.is_differentiating:
            collector = self._stack[-1]
            self._observe(collector, "batches", model_batches(given, collector.models))
            collector.models += 1
            collector.weights = collector.weights or weights

    @guarded
    def ran(self, run: LayerRun, output: Any) -> None:
        """Observe what a layer of Linen or Keras returned, of several calls the first."""
        if not self.is_differentiating:
            return
        collector = self._stack[-1]
        if run.in_evaluation is not None:
            collector.modes.append(run.in_evaluation)
        name = self.modules.name(run.model, run.path)
        tensors = tensors_in(name, output)
        if not tensors.keys() & collector.observed.keys():
            self.modules.reasons[name] = None
            self._observe(collector, "outputs", tensors)

    @guarded
    def computed(self, call: LossCall) -> None:
        """A loss of optax was computed."""
        if self.is_collecting:
            self._stack[-1].losses.append(call)

    @timed
    @guarded
    def differentiated(
        self,
        function: Function,
        argnums: Any,
        args: Any,
        kwargs: Any,
        loss: Any,
        gradients: Any,
        stats: TraceStats,
    ) -> None:
        collector = self._stack[-1]
        collector.add(stats)
        collector.trains = True
        loss_name = function_name(function)
        computed_by = self._functions.get(loss_name, "")
        losses = {f"loss/{loss_name}": loss}
        if collector.only_losses:
            self._observe(collector, "losses", losses, function=computed_by)
            return
        single = not isinstance(argnums, (tuple, list))
        numbers = (argnums,) if single else argnums
        named = argument_names(function, numbers)
        given = {name: args[number] for name, number in zip(named, numbers, strict=True)}
        found = dict(zip(named, (gradients,) if single else gradients, strict=True))
        known_weights, known_slopes = (
            {argument: _by_name(tree, collector.weights) for argument, tree in trees.items()}
            for trees in (given, found)
        )
        parameters = self.names.of(function, known_weights, collector.observed)
        slopes = self.names.of(function, known_slopes, {})
        for name in parameters:
            known = all(is_readable(tree.get(name, 0)) for tree in (parameters, slopes))
            self.parameters[name] = None if known else "of a dtype without statistics"
        new = {n: v for n, v in parameters.items() if collector.observed.get(n) is not v}
        self._observe(collector, "weights", new, trainable=True)
        self._observe(collector, "losses", losses, function=computed_by)
        others = [number for number in range(len(args)) if number not in numbers]
        beside = dict(
            zip(argument_names(function, others), (args[one] for one in others), strict=True)
        )
        if any(map(_ADVANTAGES.fullmatch, (*beside, *kwargs))):
            one = jax.numpy.ones(())
            self._observe(collector, "setup", {f"setup/policy/{loss_name}": one})
        if "batches" not in collector.kinds:  # no model was called that is known as one
            found_batches = batches(beside | kwargs, list(given.values()), collector.labels)
            self._observe(collector, "batches", found_batches)
        gradient = {f"gradient/{name}": value for name, value in slopes.items()}
        self._observe(collector, "gradients", gradient)

    @guarded
    def observe(self, name: str, kind: str, value: Any) -> bool:
        """Observe something of the user's that is computed now; return whether it could be."""
        if self.is_collecting:
            self._observe(self._stack[-1], kind, {name: jax.numpy.asarray(value)})
            return True
        if isinstance(value, jax.core.Tracer):
            self.unobserved[name] = None
            return True
        return False

    @guarded
    def scheduled(self, rate: Any, *, is_signed: bool) -> None:
        """Observe a learning rate, where an update is computed."""
        if not self.is_collecting:
            return
        collector, value = self._stack[-1], jax.numpy.asarray(rate)
        value = value if is_signed else jax.numpy.abs(value)
        number = sum(name.startswith("learning_rate/") for name in collector.observed)
        if not value.shape:
            self._observe(collector, "learning_rates", {f"learning_rate/{number}": value})

    @guarded
    def _observe(
        self,
        collector: Collector,
        kind: str,
        values: Any,
        *,
        trainable: bool | None = None,
        function: str = "",
    ) -> None:
        for name, value in values.items():
            if is_readable(value):
                dtype, shape = value.dtype.name, tuple(value.shape)
                info = TensorInfo(name, kind, dtype, shape, trainable, function=function)
                collector.observe(info, value)

    # Modules

    def _module(self, run: Function, module: Any, args: Any, kwargs: Any) -> Any:
        if not self._running:
            self._enter(module)
            self.begins(args)
        self._running.append(module)
        try:
            output = run(module, *args, **kwargs)
        finally:
            self._running.pop()
        self._returned(module, output, in_evaluation(module, args, kwargs))
        return output

    @timed
    @guarded
    def _enter(self, model: Any) -> None:
        self._paths = self.modules.inside(model)

    @timed
    @guarded
    def _returned(self, module: Any, output: Any, mode: bool | None) -> None:
        if self._stack[-1].only_losses:
            self._stack[-1].runs = True
            return
        if mode is not None:
            self._stack[-1].modes.append(mode)
        name = self._paths.get(id(module))
        if name is not None:
            self.modules.reasons[name] = None
            self._observe(self._stack[-1], "outputs", tensors_in(name, output))


def _by_name(tree: Any, names: Sequence[str]) -> Any:
    """Return the weights of a model of Keras, which are in a list, by their names."""
    are_named = isinstance(tree, (list, tuple)) and len(tree) == len(names) > 0
    return dict(zip(names, tree, strict=True)) if are_named else tree
