"""The axis that figures share: optimizer steps, and where the steps of evaluations lie on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.finding import Finding
from ..model.json_text import parse_json
from ..model.steps import Mode
from ..numerics.columns import numbers
from ..trial import Trial
from .downsample import bucket_starts
from .progressive_read import Placed, Window

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_MOST_KNOTS = 400
_MOST_PASSES = 8
# So many steps before and after what was found are shown with it, or as many as it took.
_CONTEXT = 25


class StepAxis:
    """Where global steps lie on the axis of optimizer steps.

    A TRAIN step lies at its own count, divided by how many batches an optimizer's step takes. Steps
    of other modes lie where training had come to by then: those of one evaluation pass are one
    point, in which each step weighs as many samples as it had. Of several passes with no training
    between them, as over the training data and over others, each is of a line of its own. Of
    boosted trees a round is trained and evaluated, and both lie at its number.

    Args:
        trial: The run, as it is now.
    """

    def __init__(self, trial: Trial) -> None:
        self.steps = trial.step_numbers(Mode.TRAIN)
        self._within = trial.mode_step_numbers(Mode.TRAIN)
        self._all = trial.step_numbers()
        #: Whether it counts boosting rounds.
        self.counts_rounds = "boosting" in trial.reader.tensors().values()
        self._passes = _NONE if self.counts_rounds else _passes(trial, self.steps)
        self._batches = _batch_rows(trial)
        self.accumulated = _accumulated(trial)
        self._epochs: dict[str, list[float]] | None = None  # read when they are asked for

    def __call__(self, steps: Ints, mode: str) -> Placed:
        """Return where steps of a mode lie."""
        x = self.of(steps, mode == Mode.TRAIN.value)
        if mode == Mode.TRAIN.value:
            return Placed(x)
        weights = None
        if len(self._batches[0]):
            at = np.clip(np.searchsorted(self._batches[0], steps, "right") - 1, 0, None)
            weights = self._batches[1][at]
        return Placed(x, weights, self._pass_of(steps))

    def of(self, steps: npt.ArrayLike, is_train: bool = False) -> Ints:
        """Return where global steps lie."""
        steps = np.asarray(steps, np.int64)
        if not len(self.steps):
            return steps
        before = np.searchsorted(self.steps, steps, "right") - 1
        x = np.where(before >= 0, self._within[np.maximum(before, 0)], -1)
        exact = is_train | self.counts_rounds | (self.steps[np.maximum(before, 0)] == steps)
        shown: Ints = np.maximum(np.where(exact, x, x + 1), 0) // self.accumulated
        return shown

    def _pass_of(self, steps: Ints) -> Ints:
        """Return which evaluation since the TRAIN step before it each step is of, 1 for the first.

        What comes after so many is counted as the last of them.
        """
        if not len(self._passes.begins):
            return np.ones(steps.shape, np.int64)
        at = np.maximum(np.searchsorted(self._passes.begins, steps, "right") - 1, 0)
        began = self._passes.begins[at]
        trained, trained_then = (np.searchsorted(self.steps, one) for one in (steps, began))
        is_of_it = (began <= steps) & (trained == trained_then)
        return np.where(is_of_it, np.minimum(self._passes.numbers[at], _MOST_PASSES), 1)

    def places(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings whose steps are where they began, for a figure to mark them there."""
        found = list(findings)
        at = self.of([one.began for one in found]).tolist()
        return [
            replace(one, step=x, onset=None, mode_step=None, train_onset=None)
            for one, x in zip(found, at, strict=True)
        ]

    def around(self, first: int | None, last: int | None) -> tuple[int, int] | None:
        """Return the optimizer steps that show what was found, with some before and after.

        Args:
            first: The global step at which it began; ``None`` where nothing was found.
            last: The global step at which it was noticed.

        Returns:
            The first and the last one; ``None`` where that is much of the run.
        """
        if first is None or last is None or self.last < 0:
            return None
        began, noticed = self.of([first, last]).tolist()
        before = max(_CONTEXT, noticed - began)
        shown = max(0, began - before), min(self.last, noticed + before)
        return shown if 2 * (shown[1] - shown[0]) < self.last else None

    def window(self, first: int, last: int) -> Window:
        """Return the global steps that lie between two optimizer steps."""
        if not len(self.steps):
            return first, last
        at = np.searchsorted(self._within // self.accumulated, (first, last + 1))
        start = int(self.steps[at[0]]) if at[0] < len(self.steps) else int(self.steps[-1])
        return start, int(self.steps[at[1]]) - 1 if at[1] < len(self.steps) else 2**62

    @property
    def last(self) -> int:
        """The last optimizer step; -1 for none."""
        return int(self._within[-1]) // self.accumulated if len(self._within) else -1

    @property
    def end(self) -> int:
        """Where the last step of any mode lies, as of an evaluation at the end; -1 for none."""
        return int(self.of(self._all[-1:])[0]) if len(self._all) else -1

    def last_of(self, trial: Trial, mode: Mode) -> int:
        """Return where the last step of a mode lies; -1 for none."""
        last = trial.step_numbers(mode)[-1:]
        return int(self.of(last, mode is Mode.TRAIN)[0]) if len(last) else -1

    def counts(self, trial: Trial) -> list[str]:
        """Return in what one can count along the axis beside optimizer steps."""
        known = {
            "global": len(trial.modes) > 1,
            "time": True,
            "samples": len(self._batches[0]) > 0,
            "epoch": len(self._epochs_of(trial)["step"]) > 1,
        }
        return [name for name, is_known in known.items() if is_known]

    def _epochs_of(self, trial: Trial) -> dict[str, list[float]]:
        if self._epochs is None:
            self._epochs = self._read_epochs(trial)
        return self._epochs

    def _read_epochs(self, trial: Trial) -> dict[str, list[float]]:
        """Return points between which the count of epochs is a straight line; none if unknown.

        It is unknown where it begins anew, as where each epoch has a loader of its own.
        """
        known = trial.reader.tensors()
        name = next((one for one in _EPOCHS if one in known), "")
        if not name:
            return {"step": [], "global": [], "epoch": []}
        series = trial.tensor(name).statistics(Mode.TRAIN, worker=trial.workers[0])
        epochs, steps = series["mean"], series.steps
        told = np.isfinite(epochs)
        epochs, steps = epochs[told], steps[told]
        if (np.diff(epochs) < 0).any():
            return {"step": [], "global": [], "epoch": []}
        # Where only whole epochs are counted, one begins where the number grows.
        if len(epochs) and (epochs == np.floor(epochs)).all():
            begins = np.flatnonzero(np.diff(epochs, prepend=-1.0))
            epochs, steps = epochs[begins], steps[begins]
        at = bucket_starts(len(steps), _MOST_KNOTS)
        return {
            "step": self.of(steps[at], True).tolist(),
            "global": steps[at].tolist(),
            "epoch": epochs[at].tolist(),
        }

    def knots(self, trial: Trial, kind: str) -> dict[str, list[float]]:
        """Return points between which another count of steps is a straight line.

        Args:
            trial: The run.
            kind: Of ``counts``: ``global``, ``time`` (seconds since the first step), ``samples`` or
                ``epoch`` (how often training had gone through its data before a step).
        """
        if kind == "epoch":
            return self._epochs_of(trial)
        steps = trial.step_numbers()
        kinks = np.flatnonzero(np.diff(self.of(steps), n=2)) + 1
        at = np.unique(np.r_[0, kinks, max(0, len(steps) - 1)])[: len(steps)]
        if len(at) > _MOST_KNOTS:
            at = at[bucket_starts(len(at), _MOST_KNOTS)]
        chosen = steps[at] if len(steps) else steps
        found: dict[str, list[float]] = {
            "step": self.of(chosen).tolist(),
            "global": chosen.tolist(),
        }
        if kind == "time":
            times = _times(trial)
            found["step"] = self.of(times[0]).tolist()
            found["global"] = times[0].tolist()
            found["time"] = times[1].tolist()
        if kind == "samples" and len(self._batches[0]):
            size = float(np.median(self._batches[1])) * self.accumulated * len(trial.workers)
            found["samples"] = [size * (one + 1) for one in found["step"]]
        return found


class _Passes(NamedTuple):
    """Evaluation passes: at which global step each begins, ascending, and its number.

    The first one after a TRAIN step has the number 1.
    """

    begins: Ints
    numbers: Ints


_NONE = _Passes(np.empty(0, np.int64), np.empty(0, np.int64))


def _passes(trial: Trial, trained: Ints) -> _Passes:
    """Return the evaluation passes of a run.

    Where nobody saw them begin, most have the same number of steps: what comes after so many, with
    no training before it, is another pass.

    Args:
        trial: The run.
        trained: The global TRAIN steps, ascending.
    """
    name = "evaluation/number"
    if name in trial.reader.tensors():
        series = trial.tensor(name).statistics(worker=trial.workers[0])
        return _Passes(series.steps, series["mean"].astype(np.int64))
    begins = _longer_than_usual(trained, trial.step_numbers(Mode.EVAL))
    return _Passes(begins, np.full(len(begins), 2))


def _longer_than_usual(trained: Ints, evaluated: Ints) -> Ints:
    """Return the steps that follow so many EVAL steps as most often lie between TRAIN steps.

    Args:
        trained: The global TRAIN steps, ascending.
        evaluated: The global EVAL steps, ascending.

    Example:
        >>> _longer_than_usual(np.array([0, 3, 6]), np.array([1, 2, 4, 5, 7, 8, 9]))
        array([9])
    """
    places = np.searchsorted(trained, evaluated)
    _, starts, lengths = np.unique(places, return_index=True, return_counts=True)
    if not len(lengths):
        return evaluated
    kinds, times = np.unique(lengths, return_counts=True)
    usual = int(kinds[np.argmax(times)])
    longer = (lengths > usual) & (2 * times.max() > len(lengths)) & (times.max() > 1)
    found: Ints = evaluated[starts[longer] + usual]
    return found


def _batch_rows(trial: Trial) -> tuple[Ints, Floats]:
    """Return at which steps a batch was seen, and how many samples it had."""
    names = trial.tensor_names(collection="batches")[:1]
    if not names:
        return np.empty(0, np.int64), np.empty(0)
    rows = trial.rows(frozenset(names), ["shape"], worker=trial.workers[0])
    steps = numbers(rows.column("step"))
    shapes = rows.column("shape").to_pylist()
    sizes = {shape: float((parse_json(shape or "[]") or [1])[0]) for shape in set(shapes)}
    return steps, np.array([sizes[shape] for shape in shapes], np.float64)


def _accumulated(trial: Trial) -> int:
    """Return how many TRAIN steps an optimizer's step takes, as it was observed; at least 1."""
    name = "loop/optimizer_steps"
    if name not in trial.reader.tensors():
        return 1
    series = trial.tensor(name).statistics(Mode.TRAIN, worker=trial.workers[0])
    taken, steps = series["mean"], series.mode_steps
    if len(taken) < 2 or taken[-1] <= taken[0]:
        return 1
    return max(1, round(float(steps[-1] - steps[0]) / float(taken[-1] - taken[0])))


#: What says in which epoch a step was: what a hook saw, or what a trainer logs.
_EPOCHS = ("loop/epoch", "metric/epoch", "scalar/epoch")


def _times(trial: Trial) -> tuple[Ints, Floats]:
    """Return some steps, and the seconds from the first of all to each."""
    name = next(iter(trial.tensor_names(collection="losses") or trial.reader.tensors()), "")
    if not name:
        return np.empty(0, np.int64), np.empty(0)
    rows = trial.rows(frozenset([name]), ["time_ns"], worker=trial.workers[0])
    steps, times = (numbers(rows.column(name)) for name in ("step", "time_ns"))
    at = np.unique([*bucket_starts(len(steps), _MOST_KNOTS), max(0, len(steps) - 1)])[: len(steps)]
    return steps[at], (times[at] - times[0]) / 1e9 if len(times) else np.empty(0)
