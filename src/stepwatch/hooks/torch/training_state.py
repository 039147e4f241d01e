"""Everything that a training goes on from after a step, as a copy that can be put back.

A copy holds parameters and buffers of the models that are trained and of their averages
(``torch.optim.swa_utils.AveragedModel``), what the optimizers keep and their settings, learning
rate schedulers, gradient scalers, and the global random generators. Tensors are copied into the
host's memory, and put back in place: what holds on to them, such as a compiled graph, sees it.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from weakref import ref

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.swa_utils import AveragedModel

from ...errors import StepUnavailable
from .names import Names
from .optimizers import Optimizers
from .snapshot import random_states, set_random_states, why_not_copied

_GONE = "what was copied is no more as it was: the script has changed its models or optimizers"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A tensor of an optimizer, and where it lies."""

    values: torch.Tensor
    device: torch.device


class Followers:
    """What follows the steps of optimizers: schedulers, gradient scalers, averages of models."""

    def __init__(self) -> None:
        self._known: list[ref[Any]] = []
        self._version = -1

    def __iter__(self) -> Iterator[Any]:
        return (thing for known in self._known if (thing := known()) is not None)

    def look(self, optimizers: Optimizers) -> None:
        """Find all there are if there are other optimizers than the last time; it costs 100 ms."""
        if optimizers.version == self._version:
            return
        self._version = optimizers.version
        stepped = list(map(id, optimizers.stepped))
        kinds = (LRScheduler, torch.amp.GradScaler, AveragedModel)
        # type(), not isinstance(): proxies may run code of their own when asked.
        found = [thing for thing in gc.get_objects() if issubclass(type(thing), kinds)]
        self._known = [
            ref(thing)
            for thing in found
            if not isinstance(thing, LRScheduler) or id(thing.optimizer) in stepped
        ]


class TrainingState:
    """A copy of the state of a training, as it is now.

    Args:
        names: Knows the models.
        optimizers: Those that have stepped.
        followers: What follows them.
    """

    def __init__(
        self,
        names: Names,
        optimizers: Sequence[torch.optim.Optimizer],
        followers: Iterable[Any],
    ) -> None:
        followers = list(followers)
        averages = [thing for thing in followers if isinstance(thing, AveragedModel)]
        tensors = _tensors(names, averages, optimizers)
        self._tensors = [(ref(tensor), _copied(tensor)) for tensor in tensors]
        self._optimizers = [_OptimizerState(optimizer) for optimizer in optimizers]
        self._followers = [
            (ref(thing), copy.deepcopy(thing.state_dict()))
            for thing in followers
            if not isinstance(thing, AveragedModel)
        ]
        self._random = random_states()

    @property
    def size_bytes(self) -> int:
        """How much memory the copies of tensors take."""
        tensors = [values for _, values in self._tensors]
        tensors += [kept.values for one in self._optimizers for kept in one.tensors()]
        return sum(values.numel() * values.element_size() for values in tensors)

    def is_finite(self) -> bool:
        """Return whether parameters, and what optimizers keep of them, are numbers.

        Buffers may be infinite on purpose, as masks are.
        """
        tensors = [v for known, v in self._tensors if isinstance(known(), torch.nn.Parameter)]
        tensors += [kept.values for one in self._optimizers for kept in one.tensors()]
        return all(bool(torch.isfinite(values).all()) for values in tensors)

    def put_back(self, optimizers: Sequence[torch.optim.Optimizer], *, random: bool) -> None:
        """Put everything back, or raise and leave everything as it is.

        Args:
            optimizers: Those that have stepped by now; there may be no others than before.
            random: The random generators, too.

        Raises:
            StepUnavailable: The script has exchanged what was copied.
        """
        pairs = [(known(), values) for known, values in self._tensors]
        if any(now is None or now.shape != values.shape for now, values in pairs):
            raise StepUnavailable(_GONE)
        same = len(optimizers) == len(self._optimizers)
        if not (same and all(map(_OptimizerState.fits, self._optimizers, optimizers))):
            raise StepUnavailable(_GONE)
        with torch.no_grad():
            for now, values in pairs:
                now.copy_(values)  # type: ignore[union-attr]  # looked at above
            for one in self._optimizers:
                one.put_back()
        for follower, state in self._followers:
            if (thing := follower()) is not None:
                thing.load_state_dict(copy.deepcopy(state))
        if random:
            set_random_states(*self._random)


class _OptimizerState:
    """What an optimizer keeps, and its settings."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = ref(optimizer)
        groups = optimizer.param_groups
        self._parameters = [[ref(parameter) for parameter in group["params"]] for group in groups]
        self._settings = [
            {name: _kept(value) for name, value in group.items() if name != "params"}
            for group in groups
        ]
        self._state = [
            [_state_of(optimizer, parameter) for parameter in group["params"]] for group in groups
        ]

    def tensors(self) -> Iterator[_Kept]:
        """Yield what is kept of parameters as tensors."""
        for state in chain.from_iterable(self._state):
            yield from (value for value in (state or {}).values() if isinstance(value, _Kept))

    def fits(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether it is of this optimizer, which still holds the very same parameters."""
        if optimizer is not self._optimizer():
            return False
        now = [list(map(id, group["params"])) for group in optimizer.param_groups]
        return now == [[id(known()) for known in group] for group in self._parameters]

    def put_back(self) -> None:
        """Give the optimizer what it had; it fits."""
        optimizer: Any = self._optimizer()
        kept = zip(optimizer.param_groups, self._settings, self._state, strict=True)
        for group, settings, states in kept:
            _put_back(group, {**settings, "params": group["params"]})
            for parameter, state in zip(group["params"], states, strict=True):
                if state is None:
                    optimizer.state.pop(parameter, None)
                else:
                    _put_back(optimizer.state[parameter], state)


def models_of(
    names: Names, optimizers: Iterable[torch.optim.Optimizer]
) -> dict[str, torch.nn.Module]:
    """Return the models that these optimizers train, by name."""
    groups = (group["params"] for optimizer in optimizers for group in optimizer.param_groups)
    held = set(map(id, chain.from_iterable(groups)))
    return {
        str(names.of(model)): model
        for model in names.trained
        if any(id(parameter) in held for parameter in model.parameters())
    }


def why_no_state(names: Names, optimizers: Sequence[torch.optim.Optimizer]) -> str | None:
    """Return why the state of a training cannot be copied, ``None`` if it can."""
    whys = map(why_not_copied, _tensors(names, (), optimizers))
    why = next(filter(None, whys), None)
    return None if why is None else f"a parameter or buffer cannot be copied ({why})"


def _tensors(
    names: Names,
    averages: Iterable[torch.nn.Module],
    optimizers: Sequence[torch.optim.Optimizer],
) -> list[torch.Tensor]:
    """Return parameters and buffers of models, and what else optimizers hold, each once."""
    models = (*models_of(names, optimizers).values(), *averages)
    held = (chain(model.parameters(), model.buffers()) for model in models)
    more = (group["params"] for optimizer in optimizers for group in optimizer.param_groups)
    found = {id(tensor): tensor for tensor in chain.from_iterable(chain(held, more))}
    return list(found.values())


def _state_of(optimizer: torch.optim.Optimizer, parameter: torch.Tensor) -> dict[str, Any] | None:
    """Return a copy of what an optimizer keeps of a parameter; ``None`` for nothing."""
    if parameter not in optimizer.state:  # asking for it would make it: it is a defaultdict
        return None
    return {name: _kept(value) for name, value in optimizer.state[parameter].items()}


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to("cpu", copy=True)


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _Kept(_copied(value), value.device)
    return copy.deepcopy(value)


def _put_back(target: Any, kept: dict[str, Any]) -> None:
    """Make a mapping what it was; its tensors stay the same objects where they fit."""
    for name in [name for name in target if name not in kept]:
        del target[name]
    for name, value in kept.items():
        now = target.get(name)
        if value is now:
            continue
        if not isinstance(value, _Kept):
            target[name] = copy.deepcopy(value)
        elif isinstance(now, torch.Tensor) and now.shape == value.values.shape:
            now.copy_(value.values)
        else:
            target[name] = value.values.to(value.device, copy=True)
