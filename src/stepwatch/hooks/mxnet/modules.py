"""What is heard of ``mx.mod.Module``: graphs of symbols, of which the ends are seen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from mxnet import metric
from mxnet.module import Module

from ...capture.open_step import OpenStep
from .observe import Observer

_YES = ("1", "True", "true")
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
    """Observes modules and the metrics that they are judged by.

    Args:
        observer: Who takes what is found.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._before: Sums = {}
        self._fixed: WeakKeyDictionary[Module, set[str]] = WeakKeyDictionary()
        #: The names of parameters, and of outputs, that were met.
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
        """A metric is about to be told of a batch."""
        self._before = dict(_sums(judge))

    def after_metric(self, step: OpenStep, judge: metric.EvalMetric) -> None:
        """A metric was told of a batch: observe what it is of this batch alone."""
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
        if node["op"] == "BatchNorm" and node.get("attrs", {}).get("fix_gamma", "1") in _YES
    }


def _sums(judge: metric.EvalMetric) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield name, sum and count of each metric that is a mean; of others nothing."""
    if isinstance(judge, metric.CompositeEvalMetric):
        for one in judge.metrics:
            yield from _sums(one)
    elif type(judge).get is metric.EvalMetric.get:
        what = "loss" if isinstance(judge, _LOSSES) else "metric"
        yield f"{what}/{judge.name}", (float(judge.sum_metric), float(judge.num_inst))
