"""What is observed of models: modules of symbols, the names of blocks and parameters, trainers."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from mxnet import metric
from mxnet.gluon import Block, Parameter, Trainer
from mxnet.module import Module

from stepwatch.capture.open_step import OpenStep

from .observe import Observer, arrays_in

_TRUE_TEXTS = ("1", "True", "true")
Sums = dict[str, tuple[float, float]]
_LOSSES = (
    metric.CrossEntropy,
    metric.NegativeLogLikelihood,
    metric.Loss,
    metric.MAE,
    metric.MSE,
    metric.RMSE,
)


class Modules:
    """Observes modules, graphs of symbols of which only the ends are visible, and metrics."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._before: Sums = {}
        self._fixed: WeakKeyDictionary[Module, set[str]] = WeakKeyDictionary()
        #: The names of parameters, and of outputs, that were observed.
        self.parameters: set[str] = set()
        self.outputs: set[str] = set()

    def returned(self, step: OpenStep, module: Module) -> None:
        """A module ran: observe its outputs, those of all devices together."""
        for name, array in zip(module.output_names, module.get_outputs(), strict=True):
            self.outputs.add(name)
            self._observer.array(step, f"output/{name}", "outputs", array)

    def before_update(self, step: OpenStep, module: Module) -> None:
        """A module is about to be updated: observe weights, and gradients as they are used."""
        group, scale = module._exec_group, float(module._optimizer.rescale_grad)
        self.parameters.update(group.param_names)
        fixed = self._fixed_of(module)
        for name, weights, gradients in zip(
            group.param_names, group.param_arrays, group.grad_arrays, strict=True
        ):
            if name in fixed:
                self._observer.array(step, name, "buffers", weights[0])
            else:
                self._observer.parts(step, name, weights[0], gradients, scale)
        for name, counted in zip(group.aux_names, group.aux_arrays, strict=True):
            self._observer.array(step, name, "buffers", counted[0])

    def after_update(self, step: OpenStep, module: Module) -> None:
        """A module was updated: observe the learning rate that it used."""
        rate = float(np.float64(module._optimizer.learning_rate))
        self._observer.scalar(step, "learning_rate/0", "learning_rates", rate)

    def before_metric(self, judge: metric.EvalMetric) -> None:
        """A metric is about to get a batch."""
        self._before = dict(_sums(judge))

    def after_metric(self, step: OpenStep, judge: metric.EvalMetric) -> None:
        """A metric got a batch: observe what it is of this batch alone."""
        for name, (total, number) in _sums(judge):
            total_before, number_before = self._before.get(name, (0.0, 0.0))
            if number > number_before:
                kind = "losses" if name.startswith("loss/") else "metrics"
                value = (total - total_before) / (number - number_before)
                self._observer.scalar(step, name, kind, value)

    def _fixed_of(self, module: Module) -> set[str]:
        if module not in self._fixed:
            self._fixed[module] = fixed_scales(json.loads(module.symbol.tojson())["nodes"])
        return self._fixed[module]


def fixed_scales(nodes: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the scales of batch normalizations that are not trained: they have gradients of zero.

    Args:
        nodes: Of a graph, as MXNet writes it; a scale is the second input of its node. By
            default it is not trained.
    """
    return {
        nodes[node["inputs"][1][0]]["name"]
        for node in nodes
        if node["op"] == "BatchNorm" and node.get("attrs", {}).get("fix_gamma", "1") in _TRUE_TEXTS
    }


def _sums(judge: metric.EvalMetric) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield name, sum and count of each metric that is a mean; of others nothing."""
    if isinstance(judge, metric.CompositeEvalMetric):
        for one in judge.metrics:
            yield from _sums(one)
    elif type(judge).get is metric.EvalMetric.get:
        what = "loss" if isinstance(judge, _LOSSES) else "metric"
        yield f"{what}/{judge.name}", (float(judge.sum_metric), float(judge.num_inst))


class Names:
    """Names of the blocks and parameters of every model that ran.

    They are paths, as in the files of ``Block.save_parameters``. Those of the first model are its
    own; those of a further model begin with its name in Gluon, ``hybridsequential1.0.weight``.
    """

    def __init__(self) -> None:
        self._blocks: WeakKeyDictionary[Block, str] = WeakKeyDictionary()
        self._parameters: WeakKeyDictionary[Parameter, str] = WeakKeyDictionary()
        self._roots: list[tuple[weakref.ref[Block], str]] = []

    @property
    def roots(self) -> list[Block]:
        """The models, in the order in which they first ran."""
        return [block for root, _ in self._roots if (block := root()) is not None]

    def add(self, root: Block) -> None:
        """Name everything in a model; what has a name keeps it."""
        prefix = next((prefix for known, prefix in self._roots if known() is root), None)
        if prefix is None:
            prefix = f"{root.name}." if self._roots else ""
            self._roots.append((weakref.ref(root), prefix))
        for path, block in _paths(root):
            whole = prefix + path if path else prefix[:-1] or type(root).__name__
            self._blocks.setdefault(block, whole)
            inside = f"{prefix}{path}." if path else prefix
            for key, parameter in block._reg_params.items():
                self._parameters.setdefault(parameter, inside + key)

    def is_plain(self, root: Block) -> bool:
        """Return whether this is the model whose names are its own paths."""
        return any(known() is root and not prefix for known, prefix in self._roots)

    def of(self, block: Block) -> str | None:
        """Return the name of a block, ``None`` if it has none."""
        return self._blocks.get(block)

    def of_parameter(self, parameter: Parameter) -> str:
        """Return the name of a parameter; of one outside of all models that in Gluon."""
        name: str = self._parameters.get(parameter) or parameter.name
        return name

    def blocks(self) -> dict[str, tuple[Block, bool]]:
        """Return all blocks by name, each with whether it lies inside of a hybridized one."""
        found: dict[str, tuple[Block, bool]] = {}
        for root in self.roots:
            hidden: set[Block] = set()
            for _, block in _paths(root):
                if block in hidden or getattr(block, "_active", False):
                    hidden.update(block._children.values())
                if block in self._blocks:
                    found.setdefault(self._blocks[block], (block, block in hidden))
        return found


def parameters_of(root: Block) -> Iterator[Parameter]:
    """Yield the parameters of a model, each once, those of its parts included."""
    visited: set[Parameter] = set()
    for _, block in _paths(root):
        for parameter in block._reg_params.values():
            if parameter not in visited:
                visited.add(parameter)
                yield parameter


def _paths(root: Block) -> Iterator[tuple[str, Block]]:
    """Yield a model and its parts with their paths, each part before its own, and once."""
    visited = {root}
    waiting = [("", root)]
    while waiting:
        path, block = waiting.pop()
        yield path, block
        inside = f"{path}." if path else ""
        children = [
            (inside + key, child) for key, child in block._children.items() if child not in visited
        ]
        visited.update(child for _, child in children)
        waiting.extend(reversed(children))


class Optimizers:
    """Observes parameters, gradients, learning rates and states of trainers."""

    def __init__(self, observer: Observer, names: Names) -> None:
        self._observer, self._names = observer, names
        self._numbers: WeakKeyDictionary[Trainer, int] = WeakKeyDictionary()
        self._next = 0
        self._added_to: list[Parameter] = []
        self._num_stale = 0

    def before_backward(self) -> None:
        """Gradients are about to be computed: count those that are added to old ones."""
        added_to, self._added_to = self._added_to, []
        # One that is not zero is enough: somebody forgot to set them to zero.
        if any(self._is_not_zero(parameter) for parameter in added_to):
            self._num_stale += len(added_to)

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self._observer.scalar(step, "optimizer/stale_gradients", "optimizer", self._num_stale)
        self._num_stale = 0

    def before_update(self, step: OpenStep, trainer: Trainer, *, summed: bool) -> None:
        """Observe weights, and gradients as the update multiplies them.

        Args:
            summed: The gradients of all devices are one sum already.
        """
        scale = float(trainer._optimizer.rescale_grad)
        for parameter in trainer._params:
            name = self._names.of_parameter(parameter)
            self._observer.parameter(step, name, parameter, scale=scale, summed=summed)

    def after_update(self, step: OpenStep, trainer: Trainer) -> None:
        """Observe the learning rate that the update used, and what it left behind."""
        self._added_to += [one for one in trainer._params if one.grad_req == "add"]
        if trainer not in self._numbers:
            self._numbers[trainer], self._next = self._next, self._next + 1
        # MXNet evaluates schedules once for each parameter, so once more changes nothing.
        rate = np.float64(trainer.learning_rate)
        name = f"learning_rate/{self._numbers[trainer]}"
        self._observer.scalar(step, name, "learning_rates", float(rate))
        if step.wants("optimizer_states"):
            self._states(step, trainer)

    def _is_not_zero(self, parameter: Parameter) -> bool:
        value = self._observer.reading.read(parameter._grad[0]) if parameter._grad else None
        return value is not None and bool(value.any())

    def _states(self, step: OpenStep, trainer: Trainer) -> None:
        updater = trainer._kvstore._updater if trainer._update_on_kvstore else trainer._updaters[0]
        states = getattr(updater, "states", {})
        for index, parameter in enumerate(trainer._params):
            name = f"optimizer_state/{self._names.of_parameter(parameter)}"
            for number, (_, array) in enumerate(arrays_in(states.get(index))):
                self._observer.array(step, f"{name}/{number}", "optimizer_states", array)
