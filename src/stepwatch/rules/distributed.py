"""Workers that should hold the same and do not, or should get different data and do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule, few_steps
from ..judge.step_view import StepView
from ..model.finding import Finding
from ..model.record import Layout, StepRecord
from ..numerics.measures import Floats, listed
from ..numerics.statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    POSINF,
    SUM,
    SUM_ABS,
    SUM_SQ,
    ZEROS,
)

# These do not depend on the order in which elements are added up.
_EXACT = [COUNT, NAN, POSINF, NEGINF, ZEROS, MIN, MAX, ABS_MIN]
# What the order may change of a sum in float64, relative to the sum of the magnitudes.
_ROUNDING = 1e-12


def differing(first: Floats, second: Floats) -> npt.NDArray[np.bool_]:
    """Return which tensors cannot be the same, by their statistics.

    Args:
        first: Rows of one worker, shape ``[tensors, NUM_FIELDS]``.
        second: Rows of another, the same shape.

    Returns:
        Shape ``[tensors]``: counts and extremes differ at all, or sums by more than rounding.
    """
    exact_1, exact_2 = first[:, _EXACT], second[:, _EXACT]
    same = (exact_1 == exact_2) | (np.isnan(exact_1) & np.isnan(exact_2))
    scale = np.abs(first[:, [SUM_ABS, SUM_ABS, SUM_SQ]])
    with np.errstate(invalid="ignore"):
        gap = np.abs(first[:, [SUM, SUM_ABS, SUM_SQ]] - second[:, [SUM, SUM_ABS, SUM_SQ]])
        # written so that infinity minus infinity counts as the same
        far = gap > _ROUNDING * scale * np.sqrt(np.maximum(first[:, [COUNT]], 1))
    result: npt.NDArray[np.bool_] = ~same.all(axis=1) | far.any(axis=1)
    return result


class ReplicaDivergence(Rule):
    """Replicas of a model that are no longer the same, or that are given the same data.

    After each step all replicas hold the same parameters to the last bit. Corrupted memory
    (Meta: The Llama 3 herd of models, 2024), a step that one of them skips, or gradients that are
    not averaged make them differ, and no metric shows it (Jiang et al.: Training with confidence:
    catching silent errors in deep learning training, 2025). Parameters are compared by their
    digests if those are saved, else by their statistics.

    ``diverged``: parameters that were the same and no longer are. ``never_equal``: none was ever
    the same. Where some are and others never were, those are parts of one model.
    ``same_data``: replicas that are the same are given the same, changing batches.

    Compared are steps that all workers recorded in full: while they train, by the first of them,
    and by ``stepwatch check``.
    """

    name = "replica_divergence"
    needs = ("weights", "batches")
    training_only = True
    joint = True
    sign = "replicas"

    consecutive: int = parameter(5, "TRAIN steps in a row.", at_least=1)

    def begin(self) -> None:
        self._known: dict[tuple[Layout, Layout], _Shared] = {}
        self._were_equal: set[str] = set()
        self._diverged: dict[str, int] = {}
        self._last_batch: set[int] = set()
        self._compared = 0
        self._holders: set[str] = set()

    def check(self, step: StepView) -> Findings:
        if len(step.records) < 2 or not self._is_comparable(step):
            return
        first, *others = step.records
        votes: dict[str, list[str]] = {}
        names: dict[str, None] = {}
        for other in others:
            shared = self._shared(first, other)
            names |= dict.fromkeys(shared.varying(first))
            for name in shared.differing(first, other):
                votes.setdefault(name, []).append(other.worker)
        if names:
            self._compared += 1
            yield from self._evaluate_weights(step, list(names), votes)
        yield from self._evaluate_data(step, agree=bool(names) and not votes)

    def unevaluated(self) -> str | None:
        if not self._compared:
            return NotApplicable(
                "no step had parameters of several workers; stepwatch check RUN judges all workers"
            )
        return few_steps(self._compared, self.consecutive)

    def _is_comparable(self, step: StepView) -> bool:
        """Return whether the workers recorded the same TRAIN step, and each what it ever does.

        By a budget each chooses by itself which steps it records in full. One that evaluates by
        itself counts more global steps than the others.
        """
        holders = {one.worker for one in step.records if "weights" in one.layout.rows_of}
        self._holders |= holders
        numbers = {(one.mode, one.mode_step) for one in step.records}
        return len(numbers) == 1 and self._holders.intersection(step.workers) <= holders

    def _shared(self, first: StepRecord, other: StepRecord) -> _Shared:
        key = first.layout, other.layout
        if key not in self._known:
            if len(self._known) > 64:
                self._known.clear()
            self._known[key] = _Shared(first.layout, other.layout)
        return self._known[key]

    def _evaluate_weights(
        self, step: StepView, names: Sequence[str], votes: dict[str, list[str]]
    ) -> Findings:
        apart = [name for name in names if name in votes]
        diverged = [name for name in apart if name in self._were_equal]
        self._were_equal.update(name for name in names if name not in votes)
        never = not diverged and len(apart) == len(names)
        for condition, holds in (("diverged", bool(diverged)), ("never_equal", never)):
            if self.persists(condition, holds):
                yield self._finding(step, condition, diverged or apart, votes, len(names))

    def _finding(
        self,
        step: StepView,
        condition: str,
        apart: Sequence[str],
        votes: dict[str, list[str]],
        total: int,
    ) -> Finding:
        away = votes[apart[0]]
        # the first worker is what others are compared with: it is the odd one if all others differ
        odd = [step.workers[0]] if 1 < len(away) == len(step.workers) - 1 else away
        who = f"{listed(odd)} from the others" if len(step.workers) > 2 else "the two workers"
        what = "are no longer the same" if condition == "diverged" else "were never the same"
        return self.finding(
            step,
            apart[0],
            f"{listed(apart)}: {len(apart)} of {total} parameters {what} in {len(step.workers)}"
            f" workers ({who}), {self.consecutive} TRAIN steps in a row up to step {step.number}",
            worker=odd[0] if len(step.workers) > 2 else "",
            value=float(len(apart)),
            threshold=0.0,
            severity="error",
            condition=condition,
            remedy="average the gradients of all workers at each step (in PyTorch wrap the model in"
            " DistributedDataParallel and call the wrapper); if one worker alone is off, look at"
            " what it does differently, and test its memory",
            evidence={"parameters": list(apart[:20]), "workers": odd[:20]},
        )

    def _evaluate_data(self, step: StepView, *, agree: bool) -> Findings:
        digests = [tuple(_digests(record)) for record in step.records]
        known = [digest for digest in digests if digest]
        same = len(known) > 1 and len(set(known)) < len(known)
        now = {value for digest in known for value in digest}
        changed = bool(now) and not now & self._last_batch
        self._last_batch = now
        holds = agree and same and changed and len(known) == len(digests)
        if self.persists("same_data", holds):
            twins = [
                worker
                for worker, digest in zip(step.workers, digests, strict=True)
                if digests.count(digest) > 1
            ]
            yield self.finding(
                step,
                "batch/0",
                f"{listed(twins)} are given the same batches, {self.consecutive} TRAIN steps in a"
                f" row up to step {step.number}: each sample counts {len(twins)} times",
                value=float(len(twins)),
                threshold=1.0,
                condition="same_data",
                remedy="give each worker a share of the data of its own (in PyTorch by a"
                " DistributedSampler), or shuffle with a seed that depends on the rank",
            )


class _Shared:
    """The parameters that two layouts both hold as a whole."""

    def __init__(self, first: Layout, second: Layout) -> None:
        pairs = [
            (row, other)
            for row in first.rows_of.get("weights", np.empty(0, np.intp)).tolist()
            if (other := second.row_of.get(first.tensors[row].name)) is not None
            and first.tensors[row].shape == second.tensors[other].shape
            and first.tensors[row].offset is None
        ]
        self._rows = np.array([pair[0] for pair in pairs], np.intp)
        self._others = np.array([pair[1] for pair in pairs], np.intp)
        self.names = tuple(first.tensors[row].name for row, _ in pairs)

    def varying(self, first: StepRecord) -> list[str]:
        """Return the names of those that are not one number throughout.

        Biases that begin at zero are the same in models that have nothing else in common.
        """
        rows = first.statistics[self._rows]
        return [self.names[index] for index in np.flatnonzero(rows[:, MIN] != rows[:, MAX])]

    def differing(self, first: StepRecord, second: StepRecord) -> Iterator[str]:
        """Yield the names of those that are not the same."""
        apart = differing(first.statistics[self._rows], second.statistics[self._others])
        if not (first.digests and second.digests):
            for index in np.flatnonzero(apart):
                yield self.names[index]
            return
        for name, is_apart in zip(self.names, apart.tolist(), strict=True):
            pair = first.digests.get(name), second.digests.get(name)
            if is_apart if None in pair else pair[0] != pair[1]:
                yield name


def _digests(record: StepRecord) -> Iterator[int]:
    for row in record.layout.rows_of.get("batches", ()):
        digest = record.digests.get(record.layout.tensors[row].name)
        if digest is not None:
            yield digest
