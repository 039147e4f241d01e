"""Runs recorded steps again with one thing changed, and notes whether that changed anything.

What an optimizer is given is changed after it was observed, and put back after its step: so no
change removes what it is judged by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._pytree import tree_map

from ....errors import StepUnavailable
from ....formats.blackbox import BEGIN_FRAME, LOSS_FRAME, Frame
from ....model.steps import Mode
from ....trial.alternatives import CHANGES_BATCH, CHANGES_EVALUATION, Alternative
from ....trial.recording import Forward, Recording
from ...patching import PatchSet
from ..internals import (
    Loss,
    clipping_by_norm,
    clipping_by_value,
    eager_only,
    in_backward,
    replace_code,
    request_forward_kwargs,
    requests_forward_kwargs,
)
from ..tensors import tensors_in, to_numpy
from .domains import Domains
from .replay import Options, ReplayHook
from .restore import substitute_recorded
from .schedules import PacedSchedulers
from .snapshot import optimizer_state, why_not_copied

_HALF = (torch.float16, torch.bfloat16)
_MOST_DIFFERENT = 20
#: So much of what is evaluated is kept in memory.
_MOST_EVALUATED_BYTES = 256 * 1024 * 1024


class AlternativeHook(ReplayHook):
    """Gives a script the steps of a recording, with one change, and keeps all of them.

    Args:
        recording: The steps; a changed batch is in them already.
        options: As for ``ReplayHook``.
        change: What else is changed.
        snapshots: Later ones by TRAIN step, which the state is compared with.
        levels: As for ``ReplayHook``.
        num_evaluations: As for ``ReplayHook``.
    """

    def __init__(
        self,
        recording: Recording,
        options: Options,
        change: Alternative,
        snapshots: Mapping[int, Frame],
        levels: Mapping[str, int] | None = None,
        num_evaluations: int = 0,
    ) -> None:
        self._change = change
        self._snapshots = snapshots
        self._exchanged = PatchSet()
        self._put_back: list[tuple[Any, str, Any]] = []
        self._left_out: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._held: dict[tuple[int, int], Any] = {}  # the first rate, by optimizer and group
        self._clipping: list[Callable[[], None]] = []
        self._schedulers = PacedSchedulers(change.value) if change.kind == "schedule" else None
        self._domains: Domains | None = None
        #: What the run has shown: ``changed`` says whether the change changed anything,
        #: ``apart`` where the state first was another than recorded, ``agreed`` where it was not.
        self.facts: dict[str, Any] = {"changed": change.kind in CHANGES_BATCH, "agreed": []}
        self._dtype = {32: torch.float32, 64: torch.float64}.get(
            int(change.value) if change.kind == "precision" else 0
        )
        self._evaluation: Evaluation | None = None
        if num_evaluations:
            given = recording.evaluations if change.kind in CHANGES_EVALUATION else None
            self._evaluation = Evaluation(given)
        super().__init__(
            recording,
            {} if self._schedulers else options,  # which the schedule makes anew
            keep_all=True,
            levels=levels,
            num_evaluations=num_evaluations,
        )

    @property
    def evaluated(self) -> tuple[Forward, ...]:
        """What models were given in evaluations, as far as there was room for it."""
        return () if self._evaluation is None else self._evaluation.forwards

    def attach(self) -> None:
        if self._change.kind == "unclipped":  # within what the hook puts there to look at it
            for function in filter(None, (clipping_by_norm(), clipping_by_value())):
                self._clipping.append(replace_code(function, self._not_clipped))
        super().attach()
        # After the hook has observed what the optimizer is given, and the state is restored.
        before = register_optimizer_step_pre_hook(eager_only(self._change_update))
        after = register_optimizer_step_post_hook(eager_only(self._undo_change))
        self._own_handles += [before, after]
        if self._schedulers is not None:
            self._schedulers.attach()
        if self._change.kind == "eager":
            self._exchanged.put(torch, "compile", self._not_compiled)
            self._exchanged.put(torch.nn.Module, "compile", self._not_compiled_method)
        if self._dtype is not None:
            self._exchanged.put(torch.autocast, "__init__", self._no_autocast)
        if self._change.kind == "domain":
            self._domains = Domains(self._change.layer)
            self._domains.__enter__()  # type: ignore[no-untyped-call]  # of torch

    def detach(self) -> None:
        if self._domains is not None:
            self._domains.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._domains = None
        self._exchanged.remove()
        if self._schedulers is not None:
            self._schedulers.detach()
        super().detach()
        while self._clipping:
            self._clipping.pop()()

    # What is evaluated

    def _before_forward(self, module: torch.nn.Module, given: Any) -> None:
        super()._before_forward(module, given)
        if self._is_evaluated(module):
            request_forward_kwargs(module, self._feed_id)

    def _is_evaluated(self, module: torch.nn.Module) -> bool:
        """Return whether a module is the model, or the loss, of an evaluation that is kept."""
        if self._evaluation is None or in_backward():
            return False
        if isinstance(module, Loss):
            return self._evaluation.is_open and self._tracker.loss_depth == 0
        tracker = self._tracker
        is_outermost = tracker.root in (None, module) and tracker.is_model(module)
        if is_outermost and tracker.steps.mode_of(module) is Mode.TRAIN:
            self._evaluation.is_open = False
        return is_outermost and tracker.steps.mode_of(module) is Mode.EVAL

    def _feed(self, module: torch.nn.Module, args: Any, kwargs: Any = None) -> Any:
        if self._evaluation is None or not self._is_evaluated(module):
            return super()._feed(module, args, kwargs)
        if not requests_forward_kwargs(module, self._feed_id):
            return None
        with self._refusing():
            if isinstance(module, Loss):
                return self._evaluation.loss(type(module).__name__, args, kwargs)
            return self._evaluation.begin(module, args, kwargs)

    def _targets_of_function(self, name: str, args: Any, kwargs: Any) -> Any:
        evaluation = self._evaluation
        if evaluation is None or not evaluation.is_open:
            return super()._targets_of_function(name, args, kwargs)
        if self._tracker.loss_depth or in_backward():
            return args, kwargs
        with self._refusing():
            return evaluation.loss(name, args, kwargs)

    # What is changed before the forward

    def _not_compiled(self, original: Any) -> Any:
        del original

        def compile_not(model: Any = None, **_: Any) -> Any:
            self.facts["changed"] = True
            return (lambda function: function) if model is None else model

        return compile_not

    def _not_compiled_method(self, original: Any) -> Any:
        del original

        def compile_not(module: Any, *_: Any, **__: Any) -> None:
            del module
            self.facts["changed"] = True

        return compile_not

    def _no_autocast(self, original: Any) -> Any:
        def make(autocast: Any, *args: Any, **kwargs: Any) -> None:
            original(autocast, *args, **kwargs)
            self.facts["changed"] = self.facts["changed"] or autocast._enabled
            autocast._enabled = False

        return make

    def _not_clipped(self, original: Any) -> Any:
        del original

        def clip(*_: Any, **__: Any) -> None:
            self.facts["changed"] = True

        return clip

    def _with_batch(self, model: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        if self._domains is not None:
            self.facts["domains"] = dict(self._domains.bound)
        args, kwargs = super()._with_batch(model, args, kwargs)
        return self._converted(args), self._converted(kwargs)

    def _with_targets(self, name: str, args: Any, kwargs: Any) -> Any:
        args, kwargs = super()._with_targets(name, args, kwargs)
        return self._converted(args), self._converted(kwargs)

    def _converted(self, value: Any) -> Any:
        """Return a nested value with the floating point numbers in the precision asked for."""
        dtype = self._dtype
        if dtype is None:
            return value

        def convert(one: Any) -> Any:
            if isinstance(one, torch.Tensor) and one.is_floating_point() and self._is_less(one):
                self.facts["changed"] = True
                return one.to(dtype)
            return one

        return tree_map(convert, value)

    def _is_less(self, tensor: torch.Tensor) -> bool:
        return tensor.dtype in _HALF or self._dtype is torch.float64 is not tensor.dtype

    def _restore(self, module: torch.nn.Module, given: Any) -> Any:
        is_root = self._given is not None and module is self._tracker.root
        super()._restore(module, given)
        if not is_root:
            is_evaluated = module is self._tracker.root and not module.training
            return self._converted(given) if is_evaluated and self._dtype is not None else None
        if self._dtype is not None and any(map(self._is_less, module.parameters())):
            self.facts["changed"] = True
            module.to(self._dtype)
        if self._change.kind == "random":
            self.facts["changed"] = True
            torch.manual_seed(self._num_forwards)
        if self._change.kind == "mode":
            for part in module.modules():
                if part.training and _differs_in_training(part):
                    self.facts["changed"] = True
                    part.training = False
        return None

    # What is changed about the update

    def _before_optimizer(self, optimizer: torch.optim.Optimizer, *given: Any) -> None:
        super()._before_optimizer(optimizer, *given)
        if not self._num_forwards or self.over:
            return
        if self._dtype is not None:
            for parameter, state in optimizer.state.items():
                for name, value in state.items():
                    if isinstance(value, torch.Tensor) and value.ndim and value.is_floating_point():
                        state[name] = value.to(parameter.dtype)
        step = self._recording.first + self._num_over
        if self._num_over and "apart" not in self.facts and step in self._snapshots:
            different = list(self._different(optimizer, self._snapshots[step]))
            if different:
                self.facts["apart"] = {"step": step, "tensors": different[:_MOST_DIFFERENT]}
            else:
                self.facts["agreed"].append(step)

    def _change_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if not self._num_forwards or self.over:
            return
        kind, value = self._change.kind, self._change.value
        if kind == "clip":
            self._clip(optimizer, value)
        elif kind == "rate":
            for group in optimizer.param_groups:
                self._set(group, "lr", group["lr"] * value)
        elif kind == "weight_decay":
            for group in optimizer.param_groups:
                if group.get("weight_decay"):
                    self._set(group, "weight_decay", 0.0)
        elif kind == "momentum":
            for group in optimizer.param_groups:
                if float(group.get("momentum", 0)) > value:
                    self._set(group, "momentum", value)
        elif kind == "epsilon":
            for group in optimizer.param_groups:
                if float(group.get("eps", 0)) > value:
                    self._set(group, "eps", value)
        elif kind == "held":
            for number, group in enumerate(optimizer.param_groups):
                first = self._held.setdefault((id(optimizer), number), group["lr"])
                if group["lr"] != first:
                    self._set(group, "lr", first)
        elif kind == "least_rate":
            for group in optimizer.param_groups:
                if group["lr"] == 0:
                    self._set(group, "lr", value)
        elif kind in ("layer", "other_layers"):
            self._leave_out(self._change.layer, others=kind == "other_layers")
        if self._domains is not None:
            self.facts["domains"] = dict(self._domains.bound)
            self.facts["changed"] = bool(self._domains.bound)

    def _set(self, group: dict[str, Any], name: str, value: Any) -> None:
        self.facts["changed"] = True
        self._put_back.append((group, name, group[name]))
        group[name] = value

    def _clip(self, optimizer: torch.optim.Optimizer, most: float) -> None:
        given = (p.grad for group in optimizer.param_groups for p in group["params"])
        gradients = [one for one in given if one is not None and not one.is_sparse]
        norm = math.sqrt(sum(float(one.detach().double().square().sum()) for one in gradients))
        if math.isfinite(norm) and norm > most:
            self.facts["changed"] = True
            for one in gradients:
                one.mul_(most / norm)

    def _leave_out(self, layer: str, *, others: bool) -> None:
        for name, parameter in self._tracker.names.named_parameters():
            if name.startswith(f"{layer}.") is not others and parameter.grad is not None:
                self.facts["changed"] = True
                self._left_out.append((parameter, parameter.detach().clone()))

    def _undo_change(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if self._schedulers is not None and self._num_forwards and not self.over:
            self._schedulers.optimizer_stepped(optimizer)
            self.facts["changed"] = self._schedulers.changed
        while self._put_back:
            group, name, value = self._put_back.pop()
            group[name] = value
        with torch.no_grad():
            while self._left_out:
                parameter, before = self._left_out.pop()
                parameter.copy_(before)

    # How the state compares with what was recorded

    def _different(
        self, optimizer: torch.optim.Optimizer, snapshot: Frame
    ) -> Iterator[dict[str, Any]]:
        """Yield the parameters, and the state of their optimizer, that are not as recorded."""
        known = list(self._tracker.optimizers)
        index = known.index(optimizer) if optimizer in known else 0
        parameters = self._tracker.names.named_parameters()
        now: dict[str, torch.Tensor] = {f"model/{name}": one for name, one in parameters}
        now |= optimizer_state(index, optimizer)[1]
        for name, tensor in now.items():
            recorded = snapshot.arrays.get(name)
            if recorded is None or why_not_copied(tensor) is not None:
                continue
            here = np.ascontiguousarray(to_numpy(tensor.detach().cpu()))
            there = np.ascontiguousarray(recorded)
            if here.shape != there.shape or here.dtype != there.dtype:
                yield {"name": name, "elements": here.size, "of": here.size}
                continue
            width = (here.size, here.itemsize)
            bits = here.reshape(-1).view(np.uint8).reshape(width)
            other = there.reshape(-1).view(np.uint8).reshape(width)
            places = np.flatnonzero((bits != other).any(axis=1))
            if places.size:
                at = int(places[0])
                yield {
                    "name": name,
                    "elements": int(places.size),
                    "of": here.size,
                    "index": at,
                    "recorded": float(there.reshape(-1)[at]),
                    "replayed": float(here.reshape(-1)[at]),
                }


class Evaluation:
    """Knows what models are given in evaluations, and gives them something else.

    Args:
        given: What they are given instead; ``None`` for what they are.
    """

    def __init__(self, given: Sequence[Forward] | None) -> None:
        self._given = given
        self._room = _MOST_EVALUATED_BYTES
        self._known: list[Forward] = []
        self._count = 0  # of forwards
        self._num_losses = 0  # since the last of them
        #: Whether a model ran last in an evaluation, so that a loss is one of it.
        self.is_open = False

    @property
    def forwards(self) -> tuple[Forward, ...]:
        """What models were given; empty where it was too much."""
        return tuple(self._known) if self._room >= 0 else ()

    def begin(self, model: torch.nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return what a model is to be given that is evaluated."""
        self.is_open = True
        self._count += 1
        self._num_losses = 0
        frame = self._frame(
            BEGIN_FRAME,
            {"model": type(model).__name__},
            ("batch/args", args),
            ("batch/kwargs", kwargs),
        )
        self._known.append(Forward(frame, ()))
        new = None if self._given is None else self._forward().begin
        return _exchanged(frame, new, "batch/args", args), _exchanged(
            frame, new, "batch/kwargs", kwargs
        )

    def loss(self, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return what a loss of an evaluation is to be given."""
        path = f"loss/{name}"
        frame = self._frame(LOSS_FRAME, {"loss": name}, (path, args), (path, kwargs))
        last = self._known[-1]
        self._known[-1] = Forward(last.begin, (*last.losses, frame))
        self._num_losses += 1
        new = None
        if self._given is not None and self._num_losses <= len(self._forward().losses):
            new = self._forward().losses[self._num_losses - 1]
        return _exchanged(frame, new, path, args), _exchanged(frame, new, path, kwargs)

    def _forward(self) -> Forward:
        assert self._given is not None
        if self._count > len(self._given):
            raise StepUnavailable("the script evaluates more than it did before")
        return self._given[self._count - 1]

    def _frame(self, kind: str, meta: dict[str, Any], *given: tuple[str, Any]) -> Frame:
        """Return what is given now, by its paths; without arrays where there is no more room."""
        tensors = [pair for path, value in given for pair in tensors_in(value, path)]
        fit = [pair for pair in tensors if why_not_copied(pair[1]) is None]
        self._room -= sum(tensor.nbytes for _, tensor in fit)
        if self._room < 0:
            self._known.clear()
            fit = []
        arrays = {name: np.array(to_numpy(tensor.detach().cpu())) for name, tensor in fit}
        return Frame(kind, "", meta, arrays)


def _exchanged(own: Frame, new: Frame | None, path: str, value: Any) -> Any:
    """Return a nested value with what is given instead of a part of it."""
    if new is None:
        return value
    if new.meta != own.meta:
        raise StepUnavailable("the script evaluates something else than it did before")
    return substitute_recorded(value, {**own.arrays, **new.arrays}, path)


def _differs_in_training(module: torch.nn.Module) -> bool:
    """Return whether a module itself does something else when it is trained."""
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return True
    return isinstance(module, torch.nn.modules.dropout._DropoutNd) and module.p > 0


def make(recording: Recording, task: Any, change: Alternative) -> AlternativeHook:
    """Return the hook for a task of ``cli.replays``."""
    return AlternativeHook(
        recording, task.options, change, task.snapshots, task.levels, task.num_evaluations
    )
