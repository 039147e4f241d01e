"""What optimizers do: norms before and after clipping, their state, and the size of updates.

Weights from before a step are copied at steps where updates are wanted only. Of a large parameter
a sample is copied: a copy of the whole might be the memory that training needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import torch

from ....capture.open_step import OpenStep
from ..internals import isolated_compute
from ..models import Parameters
from ..observe import Observer, Scalars, on_host
from ..tensors import (
    dtype_name,
    have_same_layout,
    is_distributed,
    local_shard,
    strided_runs,
)

Item = TypeVar("Item")
Tensors = tuple[torch.Tensor, ...]
_STATES = "optimizer_states"


class Clipping:
    """Observes the norm of gradients before and after they are clipped.

    Args:
        current: Returns the step to which what happens now belongs.
    """

    def __init__(self, observer: Observer, current: Callable[[], OpenStep]) -> None:
        self._observer, self._current = observer, current
        self._before: object = None

    def norm_clipped(self, max_norm: float, norm: object) -> None:
        """Gradients of this norm were clipped to at most ``max_norm``."""
        self._observe("max_norm", max_norm, norm, clipped_norm(norm, max_norm))

    def before_value_clipping(self, parameters: torch.Tensor | Sequence[torch.Tensor]) -> None:
        """Each element of some gradients is about to be clipped."""
        self._before = gradient_norm(parameters)

    def value_clipped(
        self, parameters: torch.Tensor | Sequence[torch.Tensor], clip_value: float
    ) -> None:
        """Each element of these gradients was clipped to a magnitude."""
        self._observe("clip_value", clip_value, self._before, gradient_norm(parameters))
        self._before = None

    def _observe(self, bound: str, limit: float, before: object, after: object) -> None:
        values = {"gradient_norm_before_clipping": before, "gradient_norm_after_clipping": after}
        for name, value in {**values, bound: limit}.items():
            if value is not None:
                self._observer.scalar(self._current(), f"optimizer/{name}", value, "optimizer")


def clipped_norm(norm: object, max_norm: float) -> torch.Tensor | None:
    """Return the norm of gradients that were clipped by their norm, without reading them.

    It is ``norm * min(1, max_norm / (norm + 1e-6))``: by that factor
    ``torch.nn.utils.clip_grads_with_norm_`` multiplies each of them.

    Args:
        norm: The norm before, shape ``[]``.
        max_norm: The bound.

    Returns:
        Shape ``[]``, where ``norm`` is; ``None`` where this process does not hold all of it.
    """
    if not isinstance(norm, torch.Tensor):
        return None
    norm, offset, missing = local_shard(norm.detach())
    if offset is not None or missing is not None:
        return None
    return norm * torch.clamp(max_norm / (norm + 1e-6), max=1.0)


def gradient_norm(parameters: torch.Tensor | Sequence[torch.Tensor]) -> torch.Tensor | None:
    """Return the 2-norm of all gradients of some parameters, shape ``[]``.

    Returns:
        ``None`` if a gradient is sparse or spread over processes; 0 if there is none.
    """
    some = [parameters] if isinstance(parameters, torch.Tensor) else parameters
    gradients = [each.grad.detach() for each in some if each.grad is not None]
    if any(type(each) is not torch.Tensor or each.is_sparse for each in gradients):
        return None
    norm: torch.Tensor = torch.nn.utils.get_total_norm(gradients)
    return norm


#: Of a larger parameter so many runs of so many elements stand for the RMS of its update.
STATE_RUNS, STATE_RUN_LENGTH = 256, 64


class _Moment(NamedTuple):
    """A sample of what an Adam-like optimizer was given, and of what it remembers.

    Args:
        name: Of the RMS that these make.
        gradient: Of any floating dtype.
        squares: Means of its squares, the same shape.
        start: By what to divide these, because they started at zero.
        eps: Of the optimizer, above 0.
    """

    name: str
    gradient: torch.Tensor
    squares: torch.Tensor
    start: float | torch.Tensor
    eps: float


class OptimizerStates:
    """Observes the state of optimizers, as it is once they have stepped."""

    def __init__(self, parameters: Parameters, observer: Observer, scalars: Scalars) -> None:
        self._parameters = parameters
        self._observer = observer
        self._scalars = scalars

    def observe(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """Observe each tensor of the state, whatever it is called, and ``step``.

        Lists, such as the history of LBFGS, and numbers other than ``step`` are left out. And
        how many parameters have a dtype in which eps is zero, where it keeps a division finite.
        """
        for dtype, count in lost_eps(optimizer).items() if step.wants("optimizer") else ():
            self._observer.scalar(step, f"optimizer/lost_eps/{dtype}", count, "optimizer")
        if not step.wants(_STATES):
            return
        states = optimizer.state
        groups = {id(each): group for group in optimizer.param_groups for each in group["params"]}
        values: dict[str, object] = {}
        moments: list[_Moment] = []
        for one in self._parameters.of(optimizer):
            state = states.get(one.parameter)
            if isinstance(state, Mapping):  # other people's optimizers may hold anything
                for key, value in state.items():
                    values[f"optimizer_state/{one.weight.name}/{key}"] = value
                name = f"update_rms/{one.weight.name}"
                if name not in step and step.saves(name, _STATES):
                    moments += _moments(name, one.parameter, state, groups[id(one.parameter)])
        self._observe(step, values)
        for device, here in _by_device(moments, lambda each: each.gradient):
            names, gradients, squares, starts, eps = zip(*here, strict=True)
            with isolated_compute(device.type):
                if any(isinstance(one, torch.Tensor) for one in starts):
                    starts = tuple(torch.as_tensor(one, device=device) for one in starts)
                second_moments = torch._foreach_div(_as_float32(squares), starts)
                rms = update_rms(_as_float32(gradients), second_moments, eps)
            self._scalars.add_all(step, names, _STATES, rms)

    def _observe(self, step: OpenStep, values: Mapping[str, object]) -> None:
        tensors: dict[str, torch.Tensor] = {}
        numbers: dict[str, torch.Tensor] = {}
        for name, value in values.items():
            if name in step:  # two groups hold the parameter
                continue
            if isinstance(value, torch.Tensor):
                (tensors if value.dim() or is_distributed(value) else numbers)[name] = value
            elif name.endswith("/step") and isinstance(value, (int, float)):
                self._observer.scalar(step, name, value, _STATES)
        self._observer.tensors(step, tensors, _STATES)
        for device, here in _by_device(numbers.items(), lambda one: one[1]):
            names, each = zip(*here, strict=True)
            with isolated_compute(device.type):
                together = torch.stack([one.to(torch.float64) for one in each])
            self._scalars.add_all(step, names, _STATES, together)


_LOW_PRECISION = (torch.bfloat16, torch.float16)
#: Optimizers of torch that add eps to a root of means of squares in the dtype of the parameter.
_DIVIDES = (
    torch.optim.Adagrad,
    torch.optim.Adam,
    torch.optim.AdamW,
    torch.optim.NAdam,
    torch.optim.RAdam,
    torch.optim.RMSprop,
)


def lost_eps(optimizer: torch.optim.Optimizer) -> dict[str, int]:
    """Return how many parameters have a dtype in which the eps of an optimizer is zero.

    Returns:
        By the name of the dtype; of those with a gradient. Empty where the optimizer has no eps,
        or computes with it in float32.
    """
    counts: dict[str, int] = {}
    if type(optimizer) not in _DIVIDES:
        return counts
    for group in optimizer.param_groups:
        eps = group.get("eps")
        if group.get("fused") or not isinstance(eps, float) or eps <= 0:
            continue  # a fused step computes in float32
        for dtype in _LOW_PRECISION:
            if not float(torch.tensor(eps, dtype=dtype)):
                name, held = dtype_name(dtype), group["params"]
                count = sum(one.dtype is dtype and one.grad is not None for one in held)
                counts[name] = counts.get(name, 0) + count
    return {name: count for name, count in counts.items() if count}


def _moments(
    name: str, parameter: torch.Tensor, state: Mapping[str, Any], group: Mapping[str, Any]
) -> list[_Moment]:
    """Return what an Adam-like optimizer has of a parameter; empty if it is not one."""
    gradient = parameter.grad
    match state, group:
        case (
            {"exp_avg_sq": torch.Tensor() as squares, "step": torch.Tensor() | int() | float()},
            {"betas": (_, float() | torch.Tensor() as beta), "eps": float(eps)},
        ) if (
            gradient is not None
            and gradient.is_floating_point()
            and have_same_layout(gradient, squares)
        ):
            count = state["step"]
        case _:
            return []
    samples = [strided_runs(each, STATE_RUNS, STATE_RUN_LENGTH) for each in (gradient, squares)]
    if samples[0] is None or samples[1] is None:
        return []
    if isinstance(count, torch.Tensor) and on_host(count):
        count = float(count)
    return [_Moment(name, samples[0], samples[1], 1 - beta**count, eps)]


def _as_float32(tensors: Tensors) -> Tensors:
    return tuple(one.to(torch.float32) for one in tensors)


def update_rms(gradients: Tensors, second_moments: Tensors, eps: Sequence[float]) -> torch.Tensor:
    """Return how large gradients are for what an Adam-like optimizer expects of them.

    It is the RMS of StableAdamW (Wortsman et al.: Stable and low-precision training for
    large-scale vision-language models, 2023): about 1 while the second moment keeps up.

    Args:
        gradients: Of each parameter any shape, float32.
        second_moments: The same shapes, float32, corrected for their start at zero.
        eps: Of the optimizer, above 0: the square root of what replaces smaller moments.

    Returns:
        ``sqrt(mean(gradient^2 / max(second_moment, eps^2)))`` of each, shape ``[parameters]``,
        float32, without dimensions; not finite where a gradient is not.
    """
    # No less than what float32 holds: eps^2 of 1e-30 would be zero.
    least = [max(each**2, torch.finfo(torch.float32).tiny) for each in eps]
    roots = torch._foreach_clamp_min(second_moments, least)
    torch._foreach_sqrt_(roots)
    norms = torch.stack(torch._foreach_norm(torch._foreach_div(gradients, roots)))
    return norms / norms.new_tensor([each.numel() ** 0.5 for each in gradients])


#: A parameter of more elements than their product is sampled by so many runs of so many elements.
UPDATE_RUNS, UPDATE_RUN_LENGTH = 1024, 256


class _Before(NamedTuple):
    """What is remembered of a parameter while its optimizer steps.

    Args:
        pushed: Where the gradient of its sample is not zero; ``None`` where nobody asks.
        old: A copy of the sample, not narrower than float32.
    """

    name: str
    parameter: torch.Tensor
    pushed: torch.Tensor | None
    old: torch.Tensor


class Updates:
    """Observes how far each parameter is moved, and what of that is lost to rounding.

    Lost by optimizers of torch, which round to the nearest: others may round at random, so that
    small updates come through now and then, or add up what was rounded away.
    """

    def __init__(self, parameters: Parameters, scalars: Scalars) -> None:
        self._parameters = parameters
        self._scalars = scalars
        self._before: list[_Before] = []

    def before(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step: remember its parameters if the step wants that."""
        self._before = []
        if not step.wants("updates"):
            return
        rounds = type(optimizer).__module__.startswith("torch.optim.")
        tracked = self._parameters.of(optimizer)
        parameters = {one.weight.name: one.parameter for one in tracked}
        for device, here in _by_device(parameters.items(), lambda one: one[1]):
            with isolated_compute(device.type):
                for name, parameter in here:
                    wants_lost = (
                        rounds
                        and _may_lose(parameter)
                        and step.saves(f"lost_updates/{name}", "updates")
                    )
                    wants_any = wants_lost or step.saves(f"update_ratio/{name}", "updates")
                    if not (parameter.requires_grad and wants_any):
                        continue
                    sample = strided_runs(parameter, UPDATE_RUNS, UPDATE_RUN_LENGTH)
                    if sample is not None:
                        pushed = _pushed(parameter) if wants_lost else None
                        self._before.append(_Before(name, parameter, pushed, _widened(sample)))

    def after(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:  # noqa: ARG002
        before, self._before = self._before, []
        for device, here in _by_device(before, lambda one: one.old):
            with isolated_compute(device.type):
                self._after(step, here)

    def _after(self, step: OpenStep, before: Sequence[_Before]) -> None:
        moved: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        for one in before:
            new = strided_runs(one.parameter, UPDATE_RUNS, UPDATE_RUN_LENGTH)
            if new is None or new.shape != one.old.shape or new.device != one.old.device:
                continue
            if one.pushed is not None:
                lost = lost_share(one.old, new, one.pushed)
                self._scalars.add(step, f"lost_updates/{one.name}", "updates", lost)
            moved[f"update_ratio/{one.name}"] = one.old, new
        if moved:
            ratios = update_ratios(*zip(*moved.values(), strict=True))
            self._scalars.add_all(step, tuple(moved), "updates", ratios)


def update_ratios(old: Tensors, new: Tensors) -> torch.Tensor:
    """Return the norms of changes over the norms of what they changed, without dimensions.

    Args:
        old: Before, of each any shape, float32, float64 or complex. They are overwritten.
        new: After, the same shapes, any floating dtype.

    Returns:
        ``||new - old|| / ||old||`` of each, l2 norms, shape ``[parameters]``; where ``old`` is
        zero, 1 if ``new`` is not and 0 if it is as well. Of the widest real dtype of ``old``.
    """
    sizes = torch.stack(torch._foreach_norm(old))
    torch._foreach_sub_(old, new)
    changes = torch.stack(torch._foreach_norm(old))
    return torch.where(sizes == 0, (changes != 0).to(sizes.dtype), changes / sizes)


def lost_share(old: torch.Tensor, new: torch.Tensor, pushed: torch.Tensor) -> torch.Tensor:
    """Return the share of elements that were to move and are what they were.

    Weights in low precision lose an update that is small beside them, because the sum is rounded
    to what the weight was (Zamirai et al.: Revisiting bfloat16 training, 2020).

    Args:
        old: Before, any shape, of a dtype that holds every value of ``new``.
        new: After, the same shape.
        pushed: Which of them were to move, bool, the same shape.

    Returns:
        Shape ``[]``, float32, between 0 and 1; nan where none was to move.
    """
    return ((old == new) & pushed).sum().to(torch.float32) / pushed.sum()


def _by_device(
    each: Iterable[Item], tensor: Callable[[Item], torch.Tensor]
) -> Iterable[tuple[torch.device, list[Item]]]:
    """Return what there is on each device, in the order given."""
    found: dict[torch.device, list[Item]] = {}
    for one in each:
        found.setdefault(tensor(one).device, []).append(one)
    return found.items()


def _may_lose(parameter: torch.Tensor) -> bool:
    gradient = parameter.grad
    return (
        parameter.dtype in _LOW_PRECISION
        and gradient is not None
        and have_same_layout(parameter, gradient)
    )


def _pushed(parameter: torch.Tensor) -> torch.Tensor | None:
    gradient = (
        None
        if parameter.grad is None
        else strided_runs(parameter.grad, UPDATE_RUNS, UPDATE_RUN_LENGTH)
    )
    return None if gradient is None else gradient != 0


def _widened(sample: torch.Tensor) -> torch.Tensor:
    """Return a copy in which small changes are not rounded away."""
    narrow = sample.is_floating_point() and sample.dtype is not torch.float64
    return sample.to(torch.float32 if narrow else sample.dtype, copy=True)
