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
from .state_copies import ModuleCopy, OptimizerCopy

_GONE = "what was copied is no more as it was: the script has changed its models or optimizers"


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
            # vars(): one that wraps another may have none, or run code of its own when asked.
            if not isinstance(thing, LRScheduler) or id(vars(thing).get("optimizer")) in stepped
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
        modules = (*models_of(names, optimizers).values(), *averages)
        held = {id(p) for one in optimizers for group in one.param_groups for p in group["params"]}
        self._optimizers = [OptimizerCopy(optimizer) for optimizer in optimizers]
        self._modules = [ModuleCopy(module, without=held) for module in modules]
        self._followers = [
            (ref(thing), copy.deepcopy(thing.state_dict()))
            for thing in followers
            if not isinstance(thing, AveragedModel)
        ]
        self._random = random_states()

    @property
    def size_bytes(self) -> int:
        """How much memory the copies of tensors take."""
        buffers = chain.from_iterable(module.buffers.values() for module in self._modules)
        tensors = chain(self._learned(), buffers)
        return sum(values.numel() * values.element_size() for values in tensors)

    def is_finite(self) -> bool:
        """Return whether parameters, and what optimizers keep of them, are numbers.

        Buffers may be infinite on purpose, as masks are.
        """
        return all(bool(torch.isfinite(values).all()) for values in self._learned())

    def put_back(self, optimizers: Sequence[torch.optim.Optimizer], *, random: bool) -> None:
        """Put everything back, or raise and leave everything as it is.

        Args:
            optimizers: Those that have stepped by now; there may be no others than before.
            random: The random generators, too.

        Raises:
            StepUnavailable: The script has exchanged what was copied, or something that follows
                an optimizer refuses its state; the message says if anything has changed by that.
        """
        same = len(optimizers) == len(self._optimizers)
        if not (same and all(map(OptimizerCopy.fits, self._optimizers, optimizers))):
            raise StepUnavailable(_GONE)
        if not all(module.fits() for module in self._modules):
            raise StepUnavailable(_GONE)
        # First what may fail: it is code of the script.
        followers = [(known(), state) for known, state in self._followers]
        _load([(thing, state) for thing, state in followers if thing is not None])
        for module in self._modules:
            module.put_back()
        for optimizer in self._optimizers:
            optimizer.put_back()
        if random:
            set_random_states(*self._random)

    def _learned(self) -> Iterator[torch.Tensor]:
        yield from chain.from_iterable(one.tensors() for one in self._optimizers)
        yield from chain.from_iterable(module.parameters.values() for module in self._modules)


def _load(states: Sequence[tuple[Any, Any]]) -> None:
    """Give all things their states, or what they had if one of them refuses; then raise."""
    had = [(thing, copy.deepcopy(thing.state_dict())) for thing, _ in states]
    for number, (thing, state) in enumerate(states):
        why = _why_not_taken(thing, state)
        if why:
            undone = had[: number + 1]
            left = [type(one).__name__ for one, before in undone if _why_not_taken(one, before)]
            told = f"nothing but {', '.join(left)} has changed" if left else "nothing was put back"
            raise StepUnavailable(f"{type(thing).__name__} refuses its state ({why}); {told}")


def _why_not_taken(thing: Any, state: Any) -> str:
    """Give something its state; return why it refused, empty if it did not."""
    try:
        thing.load_state_dict(copy.deepcopy(state))
    except Exception as error:  # noqa: BLE001  it is code of the script
        return f"{type(error).__name__}: {error}"
    return ""


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
    models = models_of(names, optimizers).values()
    held = (chain(model.parameters(), model.buffers()) for model in models)
    more = (group["params"] for optimizer in optimizers for group in optimizer.param_groups)
    whys = map(why_not_copied, chain.from_iterable(chain(held, more)))
    why = next(filter(None, whys), None)
    return None if why is None else f"a parameter or buffer cannot be copied ({why})"
