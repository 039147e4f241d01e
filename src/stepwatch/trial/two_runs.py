"""Two runs beside each other: which steps, tensors and workers they have in common."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..collection import compiled
from ..errors import StepUnavailable, TensorUnavailable
from ..steps import Mode
from .trial import Trial

Steps = npt.NDArray[np.int64]

#: Times are never the same twice.
TIMES = frozenset({"loop/step_seconds", "loop/data_wait_seconds"})
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A step that two runs have in common.

    Args:
        mode: Of the step.
        mode_step: The step within its mode, which is what pairs it.
        here: The global step in the first run.
        there: The global step in the second run.
    """

    mode: Mode
    mode_step: int
    here: int
    there: int

    def __str__(self) -> str:
        return f"step {self.here} ({self.mode} {self.mode_step})"


@dataclass(frozen=True, slots=True)
class Only:
    """What one run has and the other has not.

    Args:
        steps: How many steps, by mode.
        tensors: Names, sorted.
        workers: Names.
    """

    steps: dict[str, int]
    tensors: list[str]
    workers: list[str]


class TwoRuns:
    """Two runs, their steps paired by mode and step within it, tensors and workers by name.

    Args:
        here: The first run.
        there: The second run.
        ignore: Regular expressions; tensors whose name one of them finds are left out.

    Raises:
        TensorUnavailable: They have no tensor, or no worker, in common.
        StepUnavailable: They have no step in common.
        ConfigError: ``ignore`` does not compile.
    """

    def __init__(self, here: Trial, there: Trial, ignore: Collection[str] = ()) -> None:
        self.here, self.there = here, there
        kinds, others = (_tensors(trial, ignore) for trial in (here, there))
        #: The collection of each tensor that both have, by name.
        self.tensors = {name: kinds[name] for name in kinds if name in others}
        self.workers = [worker for worker in here.workers if worker in there.workers]
        self._check_names(list(kinds), list(others))
        self._pair()
        self.only_here = self._only(here, there, sorted(kinds.keys() - others.keys()))
        self.only_there = self._only(there, here, sorted(others.keys() - kinds.keys()))

    def __len__(self) -> int:
        return len(self.steps_here)

    def pair(self, index: int) -> Pair:
        """Return the pair of steps at a place, counted from 0 in the order of the first run."""
        mode = self._modes[int(self._mode_of[index])]
        return Pair(
            mode,
            int(self._mode_steps[index]),
            int(self.steps_here[index]),
            int(self.steps_there[index]),
        )

    def names_of(self, collection: str) -> frozenset[str]:
        """Return the tensors of a built-in collection that both have."""
        return frozenset(name for name, kind in self.tensors.items() if kind == collection)

    def _check_names(self, here: list[str], there: list[str]) -> None:
        both = f"{self.here.url} and {self.there.url}"
        if not self.tensors:
            raise TensorUnavailable(
                f"{both} have no tensor in common: {_some(here)} in the first, {_some(there)} in "
                "the second; compare runs of the same model"
            )
        if not self.workers:
            raise TensorUnavailable(
                f"{both} have no worker in common: {_some(self.here.workers)} in the first, "
                f"{_some(self.there.workers)} in the second"
            )

    def _pair(self) -> None:
        self._modes = [mode for mode in self.here.modes if mode in self.there.modes]
        found = [np.empty((0, 4), np.int64)]
        for number, mode in enumerate(self._modes):
            within, at_here, at_there = np.intersect1d(
                _array(self.here.steps(mode)),
                _array(self.there.steps(mode)),
                assume_unique=True,
                return_indices=True,
            )
            columns = (
                np.full(len(within), number),
                within,
                _array(self.here.global_steps(mode))[at_here],
                _array(self.there.global_steps(mode))[at_there],
            )
            found.append(np.stack(columns, axis=1))
        pairs = np.concatenate(found)
        if not len(pairs):
            raise StepUnavailable(
                f"{self.here.url} and {self.there.url} have no step in common: "
                f"{_extent(self.here)} in the first, {_extent(self.there)} in the second"
            )
        _, first = np.unique(pairs[:, 2], return_index=True)
        self._mode_of, self._mode_steps, self.steps_here, self.steps_there = pairs[first].T

    def _only(self, one: Trial, other: Trial, tensors: list[str]) -> Only:
        steps = {
            str(mode): len(set(one.steps(mode)).difference(other.steps(mode))) for mode in one.modes
        }
        workers = [worker for worker in one.workers if worker not in other.workers]
        return Only({mode: count for mode, count in steps.items() if count}, tensors, workers)


def _tensors(trial: Trial, ignore: Collection[str]) -> dict[str, str]:
    searches = [compiled(pattern).search for pattern in ignore]
    return {
        name: kind
        for name, kind in trial.reader.tensors().items()
        if name not in TIMES and not any(search(name) for search in searches)
    }


def _array(steps: list[int]) -> Steps:
    return np.array(steps, np.int64)


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_NAMED])
    return (shown + ", …" if len(names) > _NAMED else shown) or "none"


def _extent(trial: Trial) -> str:
    """Return from where to where the steps of each mode go, in words."""
    each = {mode: trial.steps(mode) for mode in trial.modes}
    return ", ".join(f"{mode} {of[0]} to {of[-1]}" for mode, of in each.items() if of) or "none"
