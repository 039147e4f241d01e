"""The rule on runs that ought to be the same and are not, read step by step beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..formats import open_reader
from ..judge.declaration import parameter
from ..judge.rule import Findings, Rule, Selection
from ..judge.step_view import StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, StepRecord, TensorInfo
from ..model.steps import Mode
from ..numerics.measures import Floats, number
from ..store import open_store
from .shared import Array
from .tensor_equality import EQUAL, UNEQUAL, Digests, Tolerance, compare


class OtherRun:
    """The steps of a finished run, read as they are requested.

    Args:
        url: The run.

    Raises:
        RunNotFound: There is no run.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._reader = open_reader(open_store(url))
        self._reader.refresh()
        self._streams = {worker: _Stream(self._reader.records(worker)) for worker in self.workers}

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote it."""
        return self._reader.workers

    def at(self, worker: str, mode: Mode, mode_step: int) -> StepRecord | None:
        """Return a step of a worker as its mode counts it; ``None`` if it was not saved.

        The steps of a mode must be requested in order.
        """
        return self._streams[worker].at(mode, mode_step)


class _Stream:
    """The steps of one worker; those of other modes that come between are kept for later."""

    def __init__(self, records: Iterator[StepRecord]) -> None:
        self._records = records
        self._kept: dict[tuple[Mode, int], StepRecord] = {}
        self._last: dict[Mode, int] = {}

    def at(self, mode: Mode, mode_step: int) -> StepRecord | None:
        while self._last.get(mode, -1) < mode_step:
            record = next(self._records, None)
            if record is None:
                break
            self._last[record.mode] = record.mode_step
            self._kept[record.mode, record.mode_step] = record
        passed = [key for key in self._kept if key[0] is mode and key[1] < mode_step]
        for key in passed:
            del self._kept[key]
        return self._kept.pop((mode, mode_step), None)


# What a step starts from comes first: all else follows from it.
_FIRST = ("weights", "buffers")


class SimilarAcrossRuns(Rule):
    """Tensors that differ from those of another run; it speaks up where runs are *not* alike.

    A step is compared with the step of the same mode that its mode counts by the same number, and
    a worker with the one of its name; of runs with different numbers of workers, the first with
    the first. Digests and statistics decide where they can, else full values that both saved;
    where these are missing, what may be alike counts as alike. Times of the clock are left out.
    """

    name = "similar_across_runs"

    other_trials: Sequence[str] = parameter(
        (), "The other runs, folders or URLs; `other_trial_0` … in SageMaker."
    )
    collection_names: Sequence[str] = parameter((), "Compare the tensors of these collections.")
    tensor_regex: Sequence[str] = parameter(
        (), "And tensors whose name matches; with neither, all."
    )
    rtol: float = parameter(
        1e-5, "Elements may differ by this fraction of those of the other run.", at_least=0
    )
    atol: float = parameter(1e-8, "And by this. Integers must be equal.", at_least=0)
    strict_names: bool = parameter(
        False, "A tensor that only one of the runs has is a difference, too."
    )

    def begin(self) -> None:
        if not self.other_trials:
            raise ConfigError("say which runs to compare with, by other_trials=runs/first")
        self.tolerance = Tolerance(self.rtol, self.atol, equal_nan=True)
        self._tensors = Selection(self.collection_names, self.tensor_regex, keep=_is_no_time)
        self._others = [OtherRun(url) for url in self.other_trials]
        self._matches: WeakKeyDictionary[Layout, WeakKeyDictionary[Layout, _Match]] = (
            WeakKeyDictionary()
        )
        self._compared = 0

    def check(self, step: StepView) -> Findings:
        for other in self._others:
            differing: list[tuple[str, Difference]] = []
            compared = 0
            for group, names in self._tensors.groups(step):
                theirs = self._counterpart(other, step, group.record.worker)
                if theirs is not None:
                    match = self._match(group, names, theirs, step)
                    compared += len(match.names)
                    found = [*match.differences(group.record, theirs, self.tolerance)]
                    found += match.strangers if self.strict_names else ()
                    differing += [(group.record.worker, one) for one in found]
            self._compared += compared
            if differing:
                yield self._finding(step, other, differing, compared)

    def unevaluated(self) -> str | None:
        if self._compared:
            return None
        others = ", ".join(other.url for other in self._others)
        return self._tensors.missing() or f"no tensor of a step was saved here and in {others}"

    def _counterpart(self, other: OtherRun, step: StepView, worker: str) -> StepRecord | None:
        if len(other.workers) != len(step.workers) and worker not in other.workers:
            return None
        if worker not in other.workers:
            worker = other.workers[step.workers.index(worker)]
        record = other.at(worker, step.mode, step.mode_step)
        return None if record is None else next(iter(StepView([record]).records), None)

    def _match(
        self, group: TensorGroup, names: tuple[str, ...], record: StepRecord, step: StepView
    ) -> _Match:
        known = self._matches.setdefault(group.record.layout, WeakKeyDictionary())
        match = known.get(record.layout)
        if match is None:
            theirs = Selection(self._tensors.collections, self.tensor_regex, keep=_is_no_time)
            found = [chosen for _, chosen in theirs.groups(StepView([record], step.patterns))]
            match = _Match.of(
                group, names, found[0] if found else (), record.layout, self.tolerance
            )
            known[record.layout] = match
        return match

    def _finding(
        self,
        step: StepView,
        other: OtherRun,
        differing: list[tuple[str, Difference]],
        compared: int,
    ) -> Finding:
        worker, first = differing[0]
        return self.finding(
            step,
            first.name,
            f"this run differs from {other.url}: first at step {step.train_step} in {first.name},"
            f" {first.how}; {len(differing)} of {compared} tensors differ",
            worker=worker,
            value=first.largest,
            threshold=self.tolerance.rtol,
            condition=f"differs from {other.url}",
            remedy="look at seeds, at the order of the data, and at operations whose results vary"
            " from run to run",
            evidence={"other": other.url, "tensors": [one.name for _, one in differing][:20]},
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """A tensor that differs.

    Args:
        name: Its name.
        how: As text.
        largest: The largest difference of two elements, where it is known.
    """

    name: str
    how: str
    largest: float | None = None


@dataclass(frozen=True, slots=True)
class _Match:
    """The tensors that layouts of two runs have in common, in the order of execution.

    Args:
        names: Of those in common.
        here: Their rows in this run.
        there: Their rows in the other run.
        shapes: Whether their shapes are the same.
        tolerance: As ``Tolerance.for_dtypes`` gives it.
        strangers: What only one of the runs has.
    """

    names: tuple[str, ...]
    here: npt.NDArray[np.intp]
    there: npt.NDArray[np.intp]
    shapes: npt.NDArray[np.bool_]
    tolerance: Floats
    strangers: tuple[Difference, ...]

    @classmethod
    def of(
        cls, group: TensorGroup, names: tuple[str, ...], theirs: tuple[str, ...], there: Layout,
        tolerance: Tolerance,
    ) -> _Match:  # fmt: skip
        """Match the selected tensors of this run with those of the other."""
        infos = group.infos
        late = [info.collection not in _FIRST for info in infos]
        order = sorted(range(len(names)), key=late.__getitem__)
        common = [index for index in order if names[index] in there.row_of]
        rows = [there.row_of[names[index]] for index in common]
        pairs = list(zip(common, rows, strict=True))
        only_here = [name for name in names if name not in there.row_of]
        only_there = sorted(set(theirs) - set(names))
        return cls(
            tuple(names[index] for index in common),
            group.rows[common],
            np.array(rows, np.intp),
            np.array([infos[i].shape == there.tensors[r].shape for i, r in pairs], bool),
            tolerance.for_dtypes([infos[index] for index in common]),
            (
                *(Difference(name, "which only this run has") for name in only_here),
                *(Difference(name, "which only the other run has") for name in only_there),
            ),
        )

    def differences(
        self, here: StepRecord, there: StepRecord, tolerance: Tolerance
    ) -> Iterator[Difference]:
        """Yield what differs at a step."""
        ours, theirs = TensorGroup(here, self.here), TensorGroup(there, self.there)
        older, newer = (
            (group.record.statistics[group.rows], Digests.of(group, self.names))
            for group in (theirs, ours)
        )
        found = compare(older, newer, self.tolerance, equal_nan=True)
        for index in np.flatnonzero((found != EQUAL) | ~self.shapes).tolist():
            name = self.names[index]
            if not self.shapes[index]:
                shapes = ours[index].info.shape, theirs[index].info.shape
                yield Difference(name, f"of shape {shapes[0]} here and {shapes[1]} there")
                continue
            values = here.raw.get(name), there.raw.get(name)
            if values[0] is not None and values[1] is not None:
                if found[index] == UNEQUAL or not tolerance.allows(values[1], values[0]):
                    yield Difference(name, *_apart(values[0], values[1]))
            elif found[index] == UNEQUAL:
                means = [number(group[index].statistics.mean) for group in (ours, theirs)]
                yield Difference(name, f"whose mean is {means[0]} here and {means[1]} there")


def _apart(here: Array, there: Array) -> tuple[str, float]:
    """Return how far apart two values of one shape are: in words, and the largest difference."""
    one, other = here.astype(np.float64), there.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.abs(one - other)
    apart = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, apart)
    largest = float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0))
    text = f"max |Δ| {number(largest)}"
    if here.dtype.kind == "f" and here.dtype == there.dtype and np.isfinite(largest):
        steps = np.spacing(np.abs(there), where=np.isfinite(there), out=np.ones_like(there))
        text += f" ({number(float(np.max(apart / steps.astype(np.float64))))} ulp)"
    return text, largest


def _is_no_time(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return tensor.collection != "loop"
