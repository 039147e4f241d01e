"""An anomaly: what a rule found, asked again of steps that were run again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..model.finding import Finding
from ..model.record import Layout, StepRecord
from ..model.steps import Mode
from ..numerics.statistics import COUNT, NAN, NEGINF, POSINF, SUM
from ..trial import Trial
from ..trial.alternatives import Replayed
from ..trial.recording import Recording
from .engine import Watch
from .parameters import DEFAULT_RULES
from .root_cause import rule_name
from .step_view import StepView


class Anomaly:
    """Says of replayed steps whether a rule still finds what it found.

    Args:
        trial: The run.
        finding: What was found.
        recording: The steps that are run again.
        worker: Of a run of several, the one whose steps these are.
    """

    def __init__(
        self, trial: Trial, finding: Finding, recording: Recording, worker: str | None = None
    ) -> None:
        self.finding = finding
        self.first = recording.first
        self.last = recording.first + len(recording.steps) - 1
        self._trial = trial
        self._layouts: dict[tuple[Layout, tuple[int, ...]], Layout] = {}
        #: All steps of the run up to the last of these.
        self.records: list[StepRecord] = []
        own = (one for step in trial.records() for one in step if worker in (None, one.worker))
        for record in own:
            if record.mode is Mode.TRAIN and record.mode_step > self.last:
                break
            self.records.append(record)
        #: The EVAL steps that are run again: where the steps begin with the first of the script,
        #: its evaluations are the same.
        self.evaluations = (
            [one for one in self.records if one.mode is Mode.EVAL] if self.first == 0 else []
        )
        trained = trial.steps(Mode.TRAIN)
        self._is_whole = self.first == 0 and bool(trained) and self.last >= trained[-1]
        self._spec = self._requested_as()

    def _requested_as(self) -> str:
        """Return the rule with the parameters by which it finds this in what was recorded."""
        name = rule_name(self.finding.rule)
        known = [spec for spec in DEFAULT_RULES if spec.partition(":")[0] == name]
        steps = [one for one in self.records if one.mode is Mode.TRAIN]
        recorded = [one for one in steps if self.first <= one.mode_step <= self.last]
        for self._spec in known:
            whole = Replayed(recorded, self.evaluations)
            if len(recorded) == self.num_steps and self.is_reproduced(self.found(whole)):
                return self._spec
        return name

    def found(self, replayed: Replayed) -> list[Finding]:
        """Return what the rule finds in these steps, among all before them."""
        train, evaluations = replayed.records, replayed.evaluations
        new = {(Mode.TRAIN, self.first + at): record for at, record in enumerate(train)}
        new |= {(Mode.EVAL, record.mode_step): record for record in evaluations}
        watch = Watch([self._spec], patterns=self._trial.patterns)
        found = []
        for record in self.records:
            again = new.get((record.mode, record.mode_step))
            if again is not None:
                again = self._as_captured(again, record)
            step = StepView((again or record,), self._trial.patterns)
            one = watch.evaluate(step)
            if again is not None:
                found += one
        # Some findings are waited for to the end of the training, and are of a step before it.
        is_over = self._is_whole or not self.is_reproduced(found)
        return found + (watch.finish() if is_over else [])

    def _as_captured(self, again: StepRecord, record: StepRecord) -> StepRecord:
        """Return a replayed step with what the run captured of it, so that rules see no more."""
        rows = [
            again.layout.row_of[name]
            for name in record.layout.row_of
            if name in again.layout.row_of
        ]
        key = again.layout, tuple(sorted(rows))
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = Layout(tuple(again.layout.tensors[row] for row in key[1]))
        return replace(
            again,
            worker=record.worker,
            step=record.step,
            mode_step=record.mode_step,
            layout=layout,
            statistics=again.statistics[list(key[1])],
            raw={name: value for name, value in again.raw.items() if name in record.raw},
            digests={n: value for n, value in again.digests.items() if n in record.digests},
            exponents={n: value for n, value in again.exponents.items() if n in record.exponents},
        )

    def is_reproduced(self, found: Sequence[Finding]) -> bool:
        """Return whether the finding is among these."""
        wanted = self.finding
        return any(
            one.step == wanted.step
            and (one.condition == wanted.condition or one.tensor == wanted.tensor)
            for one in found
        )

    def remaining(self, replayed: Replayed) -> list[Finding]:
        """Return what the rule still finds, but for information of another kind."""
        wanted = self.finding
        return [
            one
            for one in self.found(replayed)
            if one.severity != "info"
            or wanted.severity == "info"
            or one.condition == wanted.condition
        ]

    def held_out_loss(self, replayed: Replayed) -> float:
        """Return the mean loss of the last evaluation; nan where there is none."""
        ends = [at for at, record in enumerate(self.records) if record.mode is Mode.EVAL]
        last = {self.records[at].mode_step for at in _last_run(ends)}
        losses = [
            float(record.statistics[row, SUM] / record.statistics[row, COUNT])
            for record in replayed.evaluations
            if record.mode_step in last
            for row in record.layout.rows_of.get("losses", ())
            if record.statistics[row, COUNT]
        ]
        return float(np.mean(losses)) if losses else math.nan

    @property
    def num_steps(self) -> int:
        return self.last - self.first + 1


def _last_run(numbers: Sequence[int]) -> Sequence[int]:
    """Return those at the end that follow each other.

    Example:
        >>> _last_run([3, 4, 8, 9])
        [8, 9]
    """
    first = len(numbers)
    while first and numbers[first - 1] == numbers[-1] - (len(numbers) - first):
        first -= 1
    return numbers[first:]


def all_losses_finite(records: Sequence[StepRecord]) -> bool:
    """Return whether no loss and no weight of these steps is nan or infinite."""
    for record in records:
        rows = record.layout.rows_of_any(("losses", "weights"))
        if record.statistics[rows][:, [NAN, POSINF, NEGINF]].any():
            return False
    return True
