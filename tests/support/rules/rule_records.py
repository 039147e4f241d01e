"""Helpers for tests of rules: records by hand, and records of a real training.

``records_of`` is a stand-in for the torch hook, as small and obvious as can be. It runs a program
and writes down what the hook's contract says, with statistics by numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode, StepCounter
from stepwatch.numerics.statistics import NUM_FIELDS
from stepwatch.rules import StepView


def row_of(values: Any) -> np.ndarray:
    """Return the statistics of some numbers, the obvious way."""
    array = np.asarray(values, np.float64).ravel()
    finite = array[np.isfinite(array)]
    row = np.zeros(NUM_FIELDS)
    row[0] = array.size
    row[1] = np.isnan(array).sum()
    row[2] = np.isposinf(array).sum()
    row[3] = np.isneginf(array).sum()
    row[4] = (finite == 0).sum()
    row[5:7] = (finite.min(), finite.max()) if finite.size else (np.nan, np.nan)
    row[7:10] = finite.sum(), np.abs(finite).sum(), (finite**2).sum()
    row[10] = np.abs(finite).min() if finite.size else np.nan
    return row


Named = Iterable[tuple[TensorInfo, Any]]


def info(name: str, collection: str, values: Any = (0.0,), **facts: Any) -> TensorInfo:
    """Return what is known of a tensor with these values; of an array of int64 that is one."""
    dtype = "int64" if getattr(values, "dtype", None) == np.int64 else "float32"
    return TensorInfo(name, collection, dtype, np.shape(values), **facts)


def record(tensors: Named, *, step: int = 0, mode: Mode = Mode.TRAIN, mode_step: int | None = None,
           worker: str = "worker_0", layout: Layout | None = None) -> StepRecord:  # fmt: skip
    """Return one worker's record of one step."""
    tensors = list(tensors)
    layout = layout or Layout(tuple(tensor for tensor, _ in tensors))
    rows = [row_of(values) for _, values in tensors]
    statistics = np.array(rows).reshape(-1, NUM_FIELDS)
    at = step if mode_step is None else mode_step
    return StepRecord(worker, mode, step, at, step * 10**9, layout, statistics)


def step_of(
    collections: Mapping[str, Mapping[str, Any]],
    step: int = 0,
    mode: Mode = Mode.TRAIN,
    **settings: Any,
) -> StepView:
    """Return a step of one worker from ``{collection: {name: values}}``."""
    tensors = [
        (info(name, collection, values), values)
        for collection, named in collections.items()
        for name, values in named.items()
    ]
    return StepView([record(tensors, step=step, mode=mode, **settings)])


def loss_steps(losses: Iterable[float], **settings: Any) -> list[StepView]:
    """Return TRAIN steps with one loss each."""
    return [
        step_of({"losses": {"loss/L": loss}}, number, **settings)
        for number, loss in enumerate(losses)
    ]


class _Capture:
    """What the program has done since the last step ended."""

    def __init__(self) -> None:
        self.records: list[StepRecord] = []
        self.counter = StepCounter()
        self.roots: dict[int, torch.nn.Module] = {}
        self.optimizers: list[torch.optim.Optimizer] = []
        self.stack: list[torch.nn.Module] = []
        self.extra: dict[str, float] = {}
        self.fresh: set[int] = set()
        self.layouts: dict[tuple[TensorInfo, ...], Layout] = {}
        self.start()

    def start(self) -> None:
        self.outputs: dict[str, tuple[TensorInfo, Any]] = {}
        self.losses: dict[str, list[float]] = {}
        self.evaluating = False

    def before_forward(self, module: torch.nn.Module, args: Any) -> None:
        if isinstance(module, torch.nn.modules.loss._Loss):
            return
        if not self.stack:
            if self.evaluating:
                self.end(Mode.EVAL, {})
            self.roots[id(module)] = module
            self.evaluating = not module.training
        self.stack.append(module)

    def after_forward(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if isinstance(module, torch.nn.modules.loss._Loss):
            name = f"loss/{type(module).__name__}"
            self.losses.setdefault(name, []).append(float(output.detach()))
            return
        self.stack.pop()
        root = self.stack[0] if self.stack else module
        path = next(name for name, other in root.named_modules() if other is module)
        path = path or type(root).__name__
        if isinstance(output, tuple):
            output = output[0]
        values = output.detach().numpy().copy()
        if not np.isfinite(values).all():
            for index, value in enumerate(args):
                self._add(f"input/{path}/{index}", "inputs", value.detach().numpy().copy())
        self._add(f"output/{path}", "outputs", values)

    def _add(self, name: str, collection: str, values: Any) -> None:
        self.outputs.pop(name, None)
        self.outputs[name] = (info(name, collection, values), values)

    def before_update(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if optimizer not in self.optimizers:
            self.optimizers.append(optimizer)
            self.fresh.add(id(optimizer))  # nothing can be stale yet
        scalars = dict(self.extra)
        self.extra.clear()
        held = [p for group in optimizer.param_groups for p in group["params"]]
        stale = 0 if id(optimizer) in self.fresh else sum(p.grad is not None for p in held)
        scalars["optimizer/stale_gradients"] = float(stale)
        self.fresh.discard(id(optimizer))
        for index, group in enumerate(optimizer.param_groups):
            scalars[f"learning_rate/{index}"] = group["lr"]
        self.end(Mode.TRAIN, scalars)

    def end(self, mode: Mode, scalars: dict[str, float]) -> None:
        tensors = list(self._parameters()) if mode is Mode.TRAIN else []
        tensors += self.outputs.values()
        tensors += [(info(n, "losses", 0.0), values) for n, values in self.losses.items()]
        tensors += [(info(n, n.split("/")[0].replace("learning_rate", "learning_rates"), 0.0), v)
                    for n, v in scalars.items()]  # fmt: skip
        step, mode_step = self.counter.next(mode)
        known = tuple(tensor for tensor, _ in tensors)
        layout = self.layouts.setdefault(known, Layout(known))
        one = record(tensors, step=step, mode=mode, mode_step=mode_step, layout=layout)
        self.records.append(one)
        self.start()

    def _parameters(self) -> Named:
        held: dict[int, int] = {}
        names = {id(p): name for root in self.roots.values() for name, p in root.named_parameters()}
        parameters = {
            name: p for root in self.roots.values() for name, p in root.named_parameters()
        }
        for number, optimizer in enumerate(self.optimizers):
            for g, group in enumerate(optimizer.param_groups):
                for index, parameter in enumerate(group["params"]):
                    held[id(parameter)] = held.get(id(parameter), 0) + 1
                    if id(parameter) not in names:
                        parameters[f"optimizer/{number}/{g}/{index}"] = parameter
        for name, p in parameters.items():
            facts = {"trainable": p.requires_grad, "optimizer_groups": held.get(id(p), 0)}
            values = p.detach().numpy().copy()
            yield info(name, "weights", values, **facts), values
        for name, p in parameters.items():
            if p.grad is not None:
                values = p.grad.numpy().copy()
                yield info(f"gradient/{name}", "gradients", values), values


@cache
def records_of(program: Callable[[], None]) -> list[StepRecord]:
    """Run a training program, once, and return the record of each of its steps."""
    capture = _Capture()
    zero_grad, clip = torch.optim.Optimizer.zero_grad, torch.nn.utils.clip_grad_norm_

    def zeroed(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        capture.fresh.add(id(self))
        zero_grad(self, *args, **kwargs)

    def clipped(parameters: Any, max_norm: float, **kwargs: Any) -> Any:
        norm = clip(parameters, max_norm, **kwargs)
        capture.extra["optimizer/gradient_norm_before_clipping"] = float(norm)
        capture.extra["optimizer/max_norm"] = max_norm
        return norm

    with ExitStack() as stack:
        for handle in (
            module_hooks.register_module_forward_pre_hook(capture.before_forward),
            module_hooks.register_module_forward_hook(capture.after_forward),
            optimizer_hooks.register_optimizer_step_pre_hook(capture.before_update),
        ):
            stack.callback(handle.remove)
        stack.enter_context(mock.patch("torch.optim.Optimizer.zero_grad", zeroed))
        stack.enter_context(mock.patch("torch.nn.utils.clip_grad_norm_", clipped))
        program()
    if capture.evaluating:
        capture.end(Mode.EVAL, {})
    return capture.records
