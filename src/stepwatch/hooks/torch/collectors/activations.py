"""What activations are like: active units, the spread of values, and the choices of routers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from math import atanh, log, sqrt
from weakref import WeakKeyDictionary

import numpy as np
import torch

from ....capture.open_step import OpenStep
from ..internals import isolated_compute
from ..models import Names, Parameters
from ..observe import Summaries
from ..tensors import evenly_spaced, local_shard, subsampled, tensors_in, unsupported

RELU, TANH, SIGMOID = "relu", "tanh", "sigmoid"

#: Derivatives that are still worth something, for the rows of ``inside``.
SLOPES = (1e-2, 1e-4, 1e-7)
#: Above so many elements a sample of them is used.
MOST_ELEMENTS = 1 << 20
#: So many calls of a module are distinguished, while its model runs once.
MOST_CALLS = 8

# The last pair is what smdebug calls not saturated.
_INTERVALS = {
    TANH: [
        *((-edge, edge) for edge in (atanh(sqrt(1 - slope)) for slope in SLOPES)),
        (-9.4999, 9.4999),
    ],
    SIGMOID: [
        *(
            (-edge, edge)
            for edge in (log((1 + root) / (1 - root)) for root in (sqrt(1 - 4 * s) for s in SLOPES))
        ),
        (-23.0, 16.99999),
    ],
}


def active_share(output: torch.Tensor) -> torch.Tensor:
    """Return the share of values above zero of each unit.

    Args:
        output: Shape ``[batch, units]``, ``[batch, length, units]`` or
            ``[batch, units, ...]``, any real dtype.

    Returns:
        Shape ``[units]``, float32, between 0 and 1; a nan counts as not above.
    """
    axis = _unit_axis(output)
    return _share(subsampled(output, axis, MOST_ELEMENTS) > 0, axis)


def inside_share(given: torch.Tensor, kind: str) -> torch.Tensor:
    """Return the share of inputs of each unit where its function still has a slope.

    Args:
        given: As ``output`` of ``active_share``, before the function.
        kind: ``tanh`` or ``sigmoid``.

    Returns:
        Shape ``[4, units]``, float32, between 0 and 1: strictly inside the interval where the
        derivative is above each of ``SLOPES``, and inside smdebug's, (-9.4999, 9.4999) for tanh
        and (-23, 16.99999) for sigmoid. A nan is outside.
    """
    axis = _unit_axis(given)
    # float32: in bfloat16 the edges would be others.
    values = subsampled(given, axis, MOST_ELEMENTS).to(torch.float32)
    return torch.stack(
        [_share((values > low) & (values < high), axis) for low, high in _INTERVALS[kind]]
    )


class Activity:
    """Observes activations, where that is asked for.

    Args:
        running: Returns the name of the innermost module that runs, ``None`` if none does.
        current: Returns the step to which what happens now belongs.
    """

    def __init__(
        self,
        running: Callable[[], str | None],
        current: Callable[[], OpenStep],
        summaries: Summaries,
    ) -> None:
        self._running, self._current, self._summaries = running, current, summaries
        self._calls: Counter[tuple[str, str]] = Counter()

    def begin(self, *_: object) -> None:
        """A model begins to run: what is called now is called for the first time."""
        self._calls.clear()

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        """A module returned: some compute by functions that are not wrapped."""
        del output
        if isinstance(module, (torch.nn.Tanh, torch.nn.Sigmoid)):
            kind = TANH if isinstance(module, torch.nn.Tanh) else SIGMOID
            for _, tensor in tensors_in(given):
                self._observe(step, kind, name, tensor)

    def called(self, kind: str, tensor: object) -> None:
        """A function was called inside of a module.

        Args:
            kind: ``relu``, ``tanh`` or ``sigmoid``.
            tensor: What a ReLU returned; what the others were given.
        """
        name = self._running()
        if name is not None and isinstance(tensor, torch.Tensor):
            step = self._current()
            if step.wants("activity"):
                self._observe(step, kind, name, tensor)

    def _observe(self, step: OpenStep, kind: str, module: str, tensor: torch.Tensor) -> None:
        number = self._calls[kind, module]
        self._calls[kind, module] += 1
        site = f"{module}/{number}" if number else module
        name = f"active/{site}" if kind == RELU else f"inside/{site}/{kind}"
        if number >= MOST_CALLS or not self._summaries.wants(step, "activity", name):
            return
        if unsupported(tensor) or tensor.layout is not torch.strided or tensor.is_complex():
            return
        if tensor.dim() < 2 or not tensor.numel():
            return  # one sample: there is nothing to take a share of
        with isolated_compute(tensor.device.type):
            value = tensor.detach()
            found = active_share(value) if kind == RELU else inside_share(value, kind)
        self._summaries.add(step, "activity", name, found)


def _unit_axis(tensor: torch.Tensor) -> int:
    return 2 if tensor.dim() == 3 else 1


def _share(which: torch.Tensor, axis: int) -> torch.Tensor:
    others = [dim for dim in range(which.dim()) if dim != axis]
    return which.sum(others).to(torch.float32) / (which.numel() // which.shape[axis])


#: So many values are sampled of a tensor.
MOST_VALUES = 4096
FRACTIONS = (0.05, 0.25, 0.5, 0.75, 0.95)


def spread(values: torch.Tensor) -> torch.Tensor:
    """Return quantiles and the kurtosis of what is finite of some values.

    Args:
        values: Shape ``[n]``, float64, on the host.

    Returns:
        Shape ``[7]``, float32: the quantiles at ``FRACTIONS``, by linear interpolation; the
        median of the magnitudes; the kurtosis ``mean((x - mean)^4) / variance^2``, 3 for a normal
        distribution (Pearson: Skew variation, a rejoinder, 1905). All nan where nothing is
        finite, and the kurtosis where all values are the same.
    """
    finite = values.numpy()
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return torch.full((len(FRACTIONS) + 2,), torch.nan)
    squares = np.square(finite - finite.mean())
    with np.errstate(invalid="ignore"):  # of what does not vary the kurtosis is 0 / 0
        kurtosis = np.mean(np.square(squares)) / np.square(np.mean(squares))
    found = [*np.quantile(finite, FRACTIONS), np.median(np.abs(finite)), kurtosis]
    return torch.tensor(found, dtype=torch.float32)


class Quantiles:
    """Observes how gradients and outputs are spread, where that is asked for."""

    def __init__(self, parameters: Parameters, summaries: Summaries) -> None:
        self._parameters = parameters
        self._summaries = summaries

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        del module, given
        for path, tensor in tensors_in(output):
            self._observe(step, f"output/{name}{path}", tensor)

    def before_update(self, step: OpenStep, optimizer: torch.optim.Optimizer) -> None:
        if step.wants("quantiles"):
            scale = getattr(optimizer, "grad_scale", None)
            for one in self._parameters.of(optimizer):
                if one.parameter.grad is not None:
                    self._observe(step, one.gradient.name, one.parameter.grad, scale)

    def _observe(
        self, step: OpenStep, of: str, tensor: torch.Tensor, scale: torch.Tensor | None = None
    ) -> None:
        name = f"quantiles/{of}"
        if not self._summaries.wants(step, "quantiles", name):
            return
        local, _, missing = local_shard(tensor)
        if missing or unsupported(local) or local.layout is not torch.strided:
            return
        if not local.is_floating_point() or not local.numel():
            return
        with isolated_compute(local.device.type):
            values = evenly_spaced(local, MOST_VALUES).to(torch.float64)
            values = values if scale is None else values / scale
        self._summaries.add(step, "quantiles", name, values, spread)


#: More experts than this are not observed.
MOST_EXPERTS = 512
#: Of more tokens than this evenly spaced ones are sampled.
MOST_TOKENS = 1 << 14

_ROUTER = re.compile(r"(^|[._])(gate|router)$")


def first_choices(logits: torch.Tensor) -> torch.Tensor:
    """Return the share of tokens of which each expert is the first choice.

    Args:
        logits: Shape ``[..., experts]``, floating, at least one token.

    Returns:
        Shape ``[experts]``, float32; their sum is 1. Of equal logits one expert is chosen.
    """
    num_experts = logits.shape[-1]
    rows = logits.reshape(-1, num_experts)
    choices = rows[:: -(-len(rows) // MOST_TOKENS)].argmax(-1)
    ones = torch.ones(len(choices), dtype=torch.float32, device=choices.device)
    zeros = torch.zeros(num_experts, dtype=torch.float32, device=choices.device)
    # not bincount, which waits for an accelerator; counts up to 2**14 are exact in float32
    return zeros.scatter_add_(0, choices, ones) / len(choices)


class Routing:
    """Observes routers: Linear modules that are called so and stand beside their experts."""

    def __init__(self, names: Names, summaries: Summaries) -> None:
        self._names = names
        self._summaries = summaries
        self._routers: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()

    def returned(
        self, step: OpenStep, module: torch.nn.Module, name: str, given: object, output: object
    ) -> None:
        del given
        if not isinstance(module, torch.nn.Linear) or not _ROUTER.search(name):
            return
        if not self._is_router(module):
            return
        if not isinstance(output, torch.Tensor) or unsupported(output) or not output.numel():
            return
        if self._summaries.wants(step, "routing", f"routing/{name}"):
            with isolated_compute(output.device.type):
                found = first_choices(output.detach())
            self._summaries.add(step, "routing", f"routing/{name}", found)

    def _is_router(self, module: torch.nn.Linear) -> bool:
        known = self._routers.get(module)
        if known is None:
            known = module.out_features <= MOST_EXPERTS and self._is_beside_experts(module)
            self._routers[module] = known
        return known

    def _is_beside_experts(self, router: torch.nn.Linear) -> bool:
        return any(
            isinstance(each, torch.nn.ModuleList) and len(each) == router.out_features
            for root in self._names.roots
            for parent in root.modules()
            if any(child is router for child in parent.children())
            for each in parent.children()
        )
