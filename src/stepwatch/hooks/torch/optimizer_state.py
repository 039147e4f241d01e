"""What optimizers remember of each parameter: momentum, variances, how often they stepped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING
from ...record import TensorInfo
from .observe import Observer
from .parameters import Parameters, Tracked
from .sampling import lie_alike, runs_of
from .scalars import Scalars
from .sharded import is_distributed
from .unnoticed import unnoticed

#: Of a larger parameter so many runs of so many elements stand for the RMS of its update.
RUNS, RUN_LENGTH = 256, 64


class _Moment(NamedTuple):
    """The second moment of an Adam-like optimizer, and what it is used with."""

    squares: torch.Tensor
    correction: Any
    eps: float


class OptimizerStates:
    """Observes the state of optimizers, as it is once they have stepped.

    Args:
        parameters: Of the optimizers.
        observer: Who takes the tensors.
        scalars: Who takes the numbers.
    """

    def __init__(self, parameters: Parameters, observer: Observer, scalars: Scalars) -> None:
        self._parameters = parameters
        self._observer = observer
        self._scalars = scalars

    def observe(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """Observe each tensor of the state, whatever it is called, and ``step``.

        Lists, such as the history of LBFGS, and numbers other than ``step`` are left out.
        """
        if not step.wants("optimizer_states"):
            return
        states = optimizer.state
        groups = {id(each): group for group in optimizer.param_groups for each in group["params"]}
        for one in self._parameters.of(optimizer):
            state = states.get(one.parameter)
            if isinstance(state, Mapping):  # other people's optimizers may hold anything
                for key, value in state.items():
                    self._observe(step, f"optimizer_state/{one.weight.name}/{key}", value)
                self._observe_rms(step, one, _moment(state, groups.get(id(one.parameter), {})))

    def _observe_rms(self, step: OpenStep, one: Tracked, moment: _Moment | None) -> None:
        name, gradient = f"update_rms/{one.weight.name}", one.parameter.grad
        info = TensorInfo(name, "optimizer_states", "float32", ())
        if moment is None or gradient is None or name in step or step.level(info) == NOTHING:
            return
        if not gradient.is_floating_point() or not lie_alike(gradient, moment.squares):
            return
        with unnoticed(gradient.device.type):
            gradients = runs_of(gradient, RUNS, RUN_LENGTH)
            squares = runs_of(moment.squares, RUNS, RUN_LENGTH)
            if gradients is not None and squares is not None:
                rms = update_rms(gradients, squares / moment.correction, moment.eps)
                self._scalars.add(step, name, "optimizer_states", rms)

    def _observe(self, step: OpenStep, name: str, value: object) -> None:
        if name in step:  # two groups hold the parameter
            return
        if isinstance(value, torch.Tensor):
            if value.dim() or is_distributed(value):
                self._observer.tensor(step, name, value, "optimizer_states")
            else:
                self._scalars.add(step, name, "optimizer_states", value)
        elif name.endswith("/step") and isinstance(value, (int, float)):
            self._observer.scalar(step, name, value, "optimizer_states")


def _moment(state: Mapping[str, Any], group: Mapping[str, Any]) -> _Moment | None:
    """Return what an Adam-like optimizer remembers of a parameter, ``None`` if it is not one."""
    match state, group:
        case (
            {"exp_avg_sq": torch.Tensor() as squares, "step": torch.Tensor() | int() | float()},
            {"betas": (_, float() | torch.Tensor() as beta), "eps": float(eps)},
        ):
            return _Moment(squares, 1 - beta ** state["step"], eps)
    return None


def update_rms(gradient: torch.Tensor, second_moment: torch.Tensor, eps: float) -> torch.Tensor:
    """Return how large gradients are for what an Adam-like optimizer expects of them.

    It is the RMS of StableAdamW (Wortsman et al.: Stable and low-precision training for
    large-scale vision-language models, 2023): about 1 while the second moment keeps up.

    Args:
        gradient: Any shape, floating.
        second_moment: The same shape, floating, corrected for its start at zero.
        eps: Of the optimizer, above 0: the square root of what replaces smaller moments.

    Returns:
        ``sqrt(mean(gradient^2 / max(second_moment, eps^2)))``, shape ``[]``, float32, without
        dimensions; not finite where a gradient is not.
    """
    squares = gradient.to(torch.float32).square()
    # No less than what float32 holds: eps^2 of 1e-30 would be zero.
    least = max(eps**2, torch.finfo(torch.float32).tiny)
    return (squares / second_moment.to(torch.float32).clamp(min=least)).mean().sqrt()
