"""Copies of everything that a training goes on from after a step, and when they are put back.

A copy holds parameters and buffers of the models that are trained and of their averages
(``torch.optim.swa_utils.AveragedModel``), what the optimizers keep and their settings, learning
rate schedulers, gradient scalers, and the global random generators. Tensors are copied into the
host's memory, and put back in place: what holds on to them, such as a compiled graph, sees it.

A copy may be used for a finding about a later step only if there are so many steps between them
about which nothing was found: what follows from a good state is good. The one before is kept until
then, so there are at most two.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from weakref import ref

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.swa_utils import AveragedModel

from ....capture.control import AlreadyDone
from ....errors import ConfigError, StepUnavailable
from ..models import Names, Optimizers
from ..process import distributed_rank
from ..replay.snapshot import random_states, set_random_states, why_not_copied
from .copies import ModuleCopy, OptimizerCopy

_DELETED = "what was copied is no more as it was: the script has changed its models or optimizers"


class StepDependents:
    """What follows the steps of optimizers: schedulers, gradient scalers, averages of models."""

    def __init__(self) -> None:
        self._known: list[ref[Any]] = []
        self._version = -1

    def __iter__(self) -> Iterator[Any]:
        return (thing for known in self._known if (thing := known()) is not None)

    def refresh(self, optimizers: Optimizers) -> None:
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
        optimizers: Those that have stepped.
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
            raise StepUnavailable(_DELETED)
        if not all(module.fits() for module in self._modules):
            raise StepUnavailable(_DELETED)
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
        why = _load_error(thing, state)
        if why:
            undone = had[: number + 1]
            left = [type(one).__name__ for one, before in undone if _load_error(one, before)]
            outcome = (
                f"nothing but {', '.join(left)} has changed" if left else "nothing was put back"
            )
            raise StepUnavailable(f"{type(thing).__name__} refuses its state ({why}); {outcome}")


def _load_error(thing: Any, state: Any) -> str:
    """Give something its state; return why it refused, empty if it did not."""
    try:
        thing.load_state_dict(copy.deepcopy(state))
    except Exception as error:  # noqa: BLE001  it is code of the script
        return f"{type(error).__name__}: {error}"
    return ""


def models_of(
    names: Names, optimizers: Iterable[torch.optim.Optimizer]
) -> dict[str, torch.nn.Module]:
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


@dataclass(slots=True)
class _Copy:
    step: int
    state: TrainingState
    times_used: int = 0


class RollbackStates:
    """Keeps copies of the state of a training, and goes back to the last good one.

    Args:
        every: A copy is made after the first TRAIN step and each so many later.
        trusted_after: About so many steps after it nothing may have been found.

    Raises:
        ConfigError: Several processes train together.
    """

    def __init__(
        self,
        every: int,
        trusted_after: int,
        *,
        names: Names,
        optimizers: Optimizers,
        followers: StepDependents,
        say: Callable[[str], None],
    ) -> None:
        self._every, self._trusted_after = every, trusted_after
        self._names, self._optimizers, self._say = names, optimizers, say
        self._followers = followers
        self._copies: list[_Copy] = []
        self._due = 0
        #: The global step after which a state was restored last; -1 for never.
        self.restored_at = -1
        self._refusal = ""
        self._check_possible()

    def after_step(self, step: int, mode_step: int, judged: int) -> None:
        """A TRAIN step is over: copy the state if that is due.

        Args:
            step: Its global number.
            mode_step: Its number within TRAIN.
            judged: The global step up to which all rules have looked.
        """
        if len(self._copies) > 1 and judged >= self._copies[1].step + self._trusted_after:
            del self._copies[0]
        if mode_step >= self._due and len(self._copies) < 2 and not self._refusal:
            self._due = mode_step + self._every
            self._copy(step)

    def restore(self, found_at: int, now: int) -> str:
        """Go back to the last state that was good before a finding.

        Args:
            found_at: The global step of the finding.
            now: The global step that is just over.

        Returns:
            What was done.

        Raises:
            ConfigError: The states of this training cannot be kept.
            StepUnavailable: There is no such state.
        """
        if found_at <= self.restored_at:
            return AlreadyDone(f"already restored after step {self.restored_at}")
        self._check_possible()
        good = [c for c in self._copies if c.step + self._trusted_after < found_at]
        if not good:
            kept = ", ".join(str(copy.step) for copy in self._copies) or "none"
            raise StepUnavailable(
                f"no state is known to be good before step {found_at}; kept are those after "
                f"steps: {kept}; trusted_after is {self._trusted_after}"
            )
        chosen = good[-1]
        # The same random numbers might draw the same bad batch again, and again.
        chosen.state.put_back(self._optimizers.stepped, random=not chosen.times_used)
        chosen.times_used += 1
        self._copies = [chosen]
        self.restored_at = now
        return f"after step {now} went back to the state after step {chosen.step}"

    def _check_possible(self) -> None:
        # A process group may have been made since the last look.
        if refusal := _why_not_alone() or self._refusal:
            raise ConfigError(refusal)

    def _copy(self, step: int) -> None:
        state = self._state_now()
        if state is None:
            self._say(f"nothing can be restored: {self._refusal}")
            return
        if not state.is_finite():
            return
        if not self._copies:
            mib = state.size_bytes / 2**20
            self._say(f"keeping up to two copies of the state in memory, {mib:.1f} MiB each")
        self._copies.append(_Copy(step, state))

    def _state_now(self) -> TrainingState | None:
        """Return a copy of the state; where there can be none say why in ``_refusal``."""
        optimizers = self._optimizers.stepped
        self._refusal = _why_not_alone() or why_no_state(self._names, optimizers) or ""
        if self._refusal:
            return None
        try:
            self._followers.refresh(self._optimizers)
            return TrainingState(self._names, optimizers, self._followers)
        except Exception as error:  # noqa: BLE001  schedulers and optimizers of the script run
            self._refusal = f"the state cannot be copied ({type(error).__name__}: {error})"
            return None


def _why_not_alone() -> str:
    """Return why one process must not go back, empty if it is the only one."""
    _, size = distributed_rank()
    if size == 1:
        return ""
    return (
        f"{size} processes train together, and one alone must not go back; "
        "restart them from a checkpoint instead"
    )
