"""Proves the cause of a finding: the smallest change of its step under which it is not found.

A step is run again as it was recorded, and the same rule must find the same. Then it is run again
under one change after the other. A change proves a cause where the rule no longer finds anything,
from the first of the steps to the last and some beyond, all losses are finite, and a control shows
that it is this change and not any: other rows do not do it, nor does a hundredth less of the rate.
What is not shown so stays a suspicion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..formats.blackbox import Frame
from ..formats.proofs import Proof, Tried
from ..model.finding import Finding
from ..model.record import StepRecord
from ..model.steps import Mode
from ..numerics.statistics import SUM, SUM_SQ
from ..trial.alternatives import (
    AS_RECORDED,
    Alternative,
    Forwards,
    Replayed,
    donors_of,
    have_same_shapes,
    num_rows,
    unusual_rows,
)
from ..trial.recording import as_ranges
from .anomaly import Anomaly, all_losses_finite
from .data_changes import data_changes
from .root_cause import sign_of

#: A change, the cause that it proves where it removes the anomaly, the proof in words, and more.
Candidate = tuple[Alternative, str, str, Mapping[str, object]]
REMOVES, REMAINS, MOVES, NOT_THIS = "removes it", "remains", "moves", "does not apply"
NOT_AGAIN = "does not come again"
#: Findings of these signs are about one step, or what a few made; others need more than a replay.
SIGNS = frozenset(
    {"spike", "growth", "bad_data", "non_finite", "exploded", "updates", "moved", "drift",
     "loss_input", "schedule", "rate", "state", "precision", "pace", "unchanged", "outcome",
     "inputs", "data", "held_out"}
)  # fmt: skip
#: Those that may be of an evaluation, which is run again where the steps begin with the first.
_EVALUATED = frozenset({"data", "held_out", "outcome"})
#: Those of which what made them may lie many steps back.
LONG = frozenset(
    {"updates", "drift", "rate", "state", "precision", "pace", "unchanged", "outcome", "inputs",
     "data", "held_out"}
)  # fmt: skip
#: Those of steps that are too small.
_TOO_SMALL = frozenset({"pace", "unchanged"})
#: More steps than that are no step and its neighbours: no one batch is looked for in them.
_FEW_STEPS = 40
_ORDINARY_EPSILON = 1e-6
_ORDINARY_RATE = 1e-3
_SMALLER = ((0.1, "a tenth"), (0.01, "a hundredth"), (0.001, "a thousandth"))
#: A schedule that is meant to changes a rate by less from one step to the next.
_RATE_JUMP = 3.0
_LONGER = (2, 4, 10, 100)
#: Of these, another step that is not in order as well has a cause of its own.
_ALONE = frozenset({"bad_data", "inputs", "non_finite", "exploded"})
_MOST_REPLAYS = 60
_FEWEST_ELEMENTS = 16
_ORDINARY_STEPS = 5
#: What is learned of other data holds better if the loss that is held out is so much less.
_LESS, _WORDS_LESS = 0.5, "half"


@dataclass
class Prover:
    """Looks for the smallest change that removes an anomaly.

    Args:
        anomaly: What is to be removed.
        forwards: The calls of models in all recorded steps.
        snapshots: By TRAIN step.
        run: Runs the steps again under a change.
        shown: Takes each change that is tried and what came of it.
    """

    anomaly: Anomaly
    forwards: Mapping[int, Forwards]
    snapshots: Mapping[int, Frame]
    run: Callable[[Alternative], Replayed]
    shown: Callable[[Tried], None] = lambda _: None
    tried: list[Tried] = field(default_factory=list)
    _again: list[StepRecord] = field(default_factory=list)
    _facts: Mapping[str, Any] = field(default_factory=dict)  # of the last replay
    _last: Replayed = field(default_factory=Replayed)
    _robust: bool | None = None

    def prove(self) -> Proof:
        """Return the proof, or why there is none."""
        plain = self.run(Alternative(AS_RECORDED, AS_RECORDED))
        if plain.error:
            return self._open(f"its step cannot be run again: {plain.error}")
        found = self.anomaly.found(plain)
        if not self.anomaly.is_reproduced(found):
            return self._not_reproduced(plain)
        self._note(AS_RECORDED, AS_RECORDED, REMAINS)
        self._again = plain.records
        for attempt in self._attempts():
            proof = attempt()
            if proof is not None:
                return proof
        return self._open(
            "it comes again when its step is run again, and no change that was tried removes it"
        )

    def _attempts(self) -> tuple[Callable[[], Proof | None], ...]:
        # Steps that are too small are so whatever the batch.
        sign = sign_of(self.anomaly.finding)
        if self.anomaly.finding.mode == str(Mode.EVAL):
            return self._shared_rows, self._trained_data
        if sign == "schedule":
            return (self._schedule,)
        if sign in ("data", "held_out"):  # no update makes it
            return self._arrangement, self._trained_data
        is_few = self.anomaly.num_steps <= _FEW_STEPS
        if sign == "inputs":
            return self._batches if is_few else self._later_batches, self._input_size
        if sign in _TOO_SMALL or not is_few:
            many = self._precision, self._arrangement, self._input_size, self._updates
            return (*many, self._trained_data) if sign == "outcome" else many
        one = self._precision, self._batches, self._domains, self._input_size
        if sign in LONG:  # what many steps made, their updates did
            return (*one, self._updates, self._circumstances)
        return (*one, self._circumstances, self._updates)

    # The changes

    def _precision(self) -> Proof | None:
        # In float64 no update is too small; that it is not in float32 is no matter of precision.
        is_too_small = sign_of(self.anomaly.finding) in _TOO_SMALL
        for bits in (32,) if is_too_small else (32, 64):
            change = Alternative("precision", f"computed in float{bits}", value=bits)
            if self._try(change) == REMOVES and self._is_robust():
                text = f"the range or precision of the numbers: in float{bits} it does not occur"
                return self._proved("precision", text)
        return None

    def _batches(self) -> Proof | None:
        """Look for rows of a batch: of the step at which it began, or of one of the two before."""
        last = self.anomaly.last
        onset = self._mode_step_of(self.anomaly.finding)
        for step in (onset, onset - 1, onset - 2):
            if self.anomaly.first <= step <= last and step in self.forwards:
                proof = self._batch(step)
                if proof is not None:
                    return proof
        if (later := self._later_batches()) is not None:
            return later
        finite = Alternative("finite", "nan and infinity in all inputs replaced by 0")
        if self._try(finite) == REMOVES:
            text = "inputs that are not finite, in more than one step: with 0 instead it does not "
            return self._proved("inputs", f"{text}occur")
        return None

    def _batch(self, step: int) -> Proof | None:
        total, donors = num_rows(self.forwards[step]), donors_of(step, self.forwards)
        bound = Alternative(
            "clamp", f"inputs of step {step} bound to those of all other steps", step=step
        )
        every = tuple(range(total))
        if not total or not donors:
            self._note("rows", f"another batch in step {step}", NOT_THIS, "there is no other")
            return self._clamped(bound)
        if self._rows(step, every, donors[0], f"the batch of step {donors[0]}") != REMOVES:
            return self._clamped(bound) or self._rows_by_others(step, total)
        rows = self._smallest(step, every, donors[0])
        if len(rows) <= max(1, total // 2):
            others = tuple(row for row in every if row not in rows)
            what = f"all but {listed_rows(rows)} replaced"
            kept = self._rows(step, others, donors[0], what, is_control=True)
            if kept == REMAINS or (kept == REMOVES and not others):
                text = (
                    f"{listed_rows(rows)} of {total} in the batch of TRAIN step {step}: with "
                    f"{'it' if len(rows) == 1 else 'them'} replaced by other rows, of step "
                    f"{donors[0]}, it does not occur, with all others replaced it does"
                )
                more = {"train_step": step, "rows": list(rows)}
                return self._proved("rows", text, more)
        return self._clamped(bound) or self._whole_batch(step, every, donors)

    def _rows_by_others(self, step: int, total: int) -> Proof | None:
        """Rows of which some output is not finite, as others in every batch: by one that is."""
        bad = self._rows_not_finite(step, total)
        good = tuple(row for row in range(total) if row not in bad)
        if not bad or not good:
            return None
        what = f"{listed_rows(bad)} replaced by row {good[0]} in step {step}"
        change = Alternative("own_rows", what, step=step, rows=bad, value=good[0])
        if self._try(change) != REMOVES:
            return None
        what = f"all but {listed_rows(bad)} replaced by row {good[0]} in step {step}"
        control = Alternative("own_rows", what, step=step, rows=good, value=good[0])
        if self._try(control, is_control=True) != REMAINS:
            return None
        text = (
            f"{listed_rows(bad)} of {total} in the batch of TRAIN step {step}: replaced by row "
            f"{good[0]} it does not occur, with all others replaced by it it does"
        )
        return self._proved("rows", text, {"train_step": step, "rows": list(bad)})

    def _whole_batch(self, step: int, every: tuple[int, ...], donors: list[int]) -> Proof | None:
        """A batch as a whole is proved where two others remove it, and it does the same elsewhere.

        The place is the step before, which is otherwise found to be in order.
        """
        before = step - 1
        if len(donors) < 2 or before < self.anomaly.first or before not in self.forwards:
            return None
        if not have_same_shapes(self.forwards[before], self.forwards[step]):
            return None
        if self._rows(step, every, donors[1], f"the batch of step {donors[1]}") != REMOVES:
            return None
        if not self._moves(step, every):
            return None
        text = (
            f"the batch of TRAIN step {step} as a whole: with that of step {donors[0]} or "
            f"{donors[1]} it does not occur, and given to step {before} it occurs there"
        )
        return self._proved("batch", text, {"train_step": step})

    def _moves(self, step: int, every: tuple[int, ...]) -> bool:
        """Return whether it occurs earlier where the step before is given the batch."""
        before = step - 1
        change = Alternative(
            "rows", f"the batch of step {step} already in step {before}",
            step=before, rows=every, donor=step,
        )  # fmt: skip
        replayed = self.run(change)
        found = [] if replayed.error else self.anomaly.found(replayed)
        moved = bool(found) and min(one.step for one in found) < self.anomaly.finding.step
        self._note(change.kind, change.text, MOVES if moved else REMAINS)
        return moved

    def _later_batches(self) -> Proof | None:
        """The data are others from a step on: with those of before in all of them it is gone."""
        step = self._mode_step_of(self.anomaly.finding)
        before = step - 1
        if before < self.anomaly.first or not {step, before} <= self.forwards.keys():
            return None
        if not have_same_shapes(self.forwards[before], self.forwards[step]):
            return None
        text = f"the batches of before from step {step} on"
        if self._try(Alternative("earlier", text, step=step)) != REMOVES:
            return None
        every = tuple(range(num_rows(self.forwards[step])))
        if not every or not self._moves(step, every):
            return None
        text = (
            f"the batches from TRAIN step {step} on: with those of before it does not occur, and "
            f"where step {before} is given the first of them it occurs there"
        )
        return self._proved("batches", text, {"train_step": step})

    def _clamped(self, bound: Alternative) -> Proof | None:
        if self._try(bound) != REMOVES:
            return None
        rows = unusual_rows(bound.step, self.forwards)
        text = (
            f"values of the inputs of TRAIN step {bound.step}, in {listed_rows(rows)}: bound to "
            "those of all other steps it does not occur"
        )
        return self._proved("inputs", text, {"train_step": bound.step, "rows": list(rows)})

    def _smallest(self, step: int, rows: tuple[int, ...], donor: int) -> tuple[int, ...]:
        """Return a small set of rows that removes it where they are replaced, by halves."""
        unusual = unusual_rows(step, self.forwards) or self._rows_not_finite(step, len(rows))
        is_some = 0 < len(unusual) < len(rows)
        if is_some and self._rows(step, unusual, donor, "what is unusual") == REMOVES:
            rows = unusual
        parts = 2
        while len(rows) > 1 and len(self.tried) < _MOST_REPLAYS:
            size = math.ceil(len(rows) / parts)
            pieces = [rows[at : at + size] for at in range(0, len(rows), size)]
            rests = [tuple(row for row in rows if row not in piece) for piece in pieces]
            candidates = [*pieces, *(rests if parts > 2 else ())]
            smaller = next(
                (one for one in candidates if one and self._rows(step, one, donor) == REMOVES), None
            )
            if smaller is not None:
                rows, parts = smaller, 2
            elif size == 1 or parts >= 4:
                break
            else:
                parts *= 2
        return rows

    def _rows_not_finite(self, step: int, total: int) -> tuple[int, ...]:
        """Return the rows of which some output was not finite when the step was run as recorded."""
        raw = self._again[step - self.anomaly.first].raw
        outputs = [array for name, array in raw.items() if name.startswith("output/")]
        found = np.zeros(total, bool)
        for array in outputs:
            if array.shape[:1] == (total,) and array.dtype.kind == "f":
                found |= ~np.isfinite(array.reshape(total, -1)).all(axis=1)
        return tuple(np.flatnonzero(found).tolist())

    def _rows(
        self,
        step: int,
        rows: tuple[int, ...],
        donor: int,
        what: str = "",
        *,
        is_control: bool = False,
    ) -> str:
        what = what or f"{listed_rows(rows)} replaced"
        change = Alternative("rows", f"{what} in step {step}", step=step, rows=rows, donor=donor)
        return self._try(change, is_control=is_control)

    def _domains(self) -> Proof | None:
        """Functions that are given what they, or their derivatives, are not finite for."""
        change = Alternative("domain", "arguments of sqrt, log, exp and division bound")
        if self._try(change) != REMOVES:
            return None
        known = list(self._facts.get("domains", {}))
        for name in known:
            alone = Alternative("domain", f"arguments of {name} bound", layer=name)
            if len(known) == 1 or self._try(alone) == REMOVES:
                where = {"exp": "too large", "division": "(almost) zero"}.get(name, "zero or below")
                text = f"{name} of what is {where}: with its argument bound it does not occur"
                return self._proved("domain", text, {"function": name})
        return None

    def _arrangement(self) -> Proof | None:
        """The same data otherwise: targets of other rows, rows in other batches."""
        for one in data_changes(self.anomaly.finding):
            if self._try(one.change) == REMOVES:
                if self._try(one.control, is_control=True) == REMAINS:
                    return self._proved(one.cause, one.text, one.evidence)
                return None
        return None

    def _shared_rows(self) -> Proof | None:
        """Rows that are trained on and evaluated: without them in training it is gone."""
        if not self.anomaly.evaluations:
            return None
        change = Alternative("shared", "rows that are evaluated too replaced in training")
        control = Alternative("unshared", "as many other rows replaced in training")
        if self._try(change) != REMOVES or self._try(control, is_control=True) != REMAINS:
            return None
        text = (
            "rows that are trained on and evaluated: with others in their place in training it "
            "does not occur, with as many of the others replaced it does"
        )
        return self._proved("shared", text)

    def _trained_data(self) -> Proof | None:
        """What is trained on is not like what is evaluated: half of that is trained on instead.

        It is proved where what is learned of either half holds for the other, and what is learned
        of as many rows as recorded does not.
        """
        if not self.anomaly.evaluations:
            return None
        if self._holds_out("evaluated", "as many rows of evaluations trained on"):
            text = (
                "the data that are trained on, which are not like those evaluated: trained on half "
                "of these, it does not occur, and the loss of the other half is less than {} of "
                "what it is after training on as many rows as recorded"
            )
            return self._proved("data", text.format(_WORDS_LESS))
        if self._holds_out("all_evaluated", "more rows of evaluations trained on"):
            text = (
                "too few different rows that are trained on: with more, half of those evaluated, "
                "it does not occur, and the loss of the other half is less than {} of what it is "
                "after training on as many rows as recorded"
            )
            return self._proved("few_rows", text.format(_WORDS_LESS))
        return None

    def _holds_out(self, kind: str, what: str) -> bool:
        """Return whether it is gone, and what is learned holds, with either half trained on."""
        for half, words in enumerate(("first", "second")):
            where = f"of the {words} half"
            if self._try(Alternative(kind, f"{what}, {where}", value=half)) != REMOVES:
                return False
            loss = self.anomaly.held_out_loss(self._last)
            control = Alternative(
                "trained",
                f"as many recorded rows trained on, the {words} half left out",
                value=half,
            )
            if self._try(control, is_control=True) == NOT_THIS:
                return False
            if not loss < _LESS * self.anomaly.held_out_loss(self._last):
                return False
        return True

    def _input_size(self) -> Proof | None:
        """The size of all inputs, from the first step on: weights are not made for another yet."""
        if self.anomaly.first:
            return None
        change = Alternative("unit", "each input brought to mean 0 and deviation 1")
        if self._try(change) == REMOVES and self._is_robust():
            text = "the size of the inputs: brought to mean 0 and deviation 1 it does not occur"
            return self._proved("inputs", text)
        return None

    def _circumstances(self) -> Proof | None:
        eager = Alternative("eager", "not compiled")
        if self._try(eager) == REMOVES and self._is_robust():
            text = "the compiled graph: run eagerly it does not occur"
            return self._proved("eager", text)
        mode = Alternative("mode", "dropout off, batch norm by its running statistics")
        if self._try(mode) != REMOVES or not self._is_robust():
            return None
        # Other units that are dropped are no other mode.
        others = Alternative("random", "other random numbers in the forward")
        if self._try(others, is_control=True) == REMOVES:
            return None
        text = "the training mode of dropout or batch norm: without it it does not occur"
        return self._proved("mode", text)

    def _updates(self) -> Proof | None:
        """What the optimizer does; in the steps before the anomaly, and so not in one step."""
        if self.anomaly.num_steps < 2:
            return None
        return self._first_of((*self._settings(), *self._sizes())) or self._layer()

    def _schedule(self) -> Proof | None:
        return self._first_of(self._paces())

    def _paces(self) -> Iterator[Candidate]:
        """Yield other paces of the schedule, all along; it begins with the first step."""
        names = (name for one in self.anomaly.records for name in one.layout.row_of)
        if self.anomaly.first or "loop/scheduler_steps" not in names:
            return
        once = "once for each step of the optimizer"
        change = Alternative("schedule", f"the schedule steps {once}", value=1.0)
        text = f"how often the schedule steps: {once} it does not occur"
        yield change, "schedule", text, {}
        for factor in _LONGER:
            change = Alternative("schedule", f"a schedule {factor} times as long", value=1 / factor)
            text = f"a schedule that is too short: {factor} times as long it does not occur"
            yield change, "schedule", text, {"factor": factor}

    def _layer(self) -> Proof | None:
        layer = _layer_of(self.anomaly.finding.tensor)
        if not layer:
            return None
        change = Alternative("layer", f"{layer} is not updated", layer=layer)
        if self._try(change) != REMOVES or not self._is_robust():
            return None
        control = Alternative("other_layers", f"nothing but {layer} is updated", layer=layer)
        if self._try(control, is_control=True) == REMOVES:
            return None
        text = f"the update of {layer}: without it it does not occur, with no other it does"
        return self._proved("layer", text)

    def _settings(self) -> Iterator[Candidate]:
        """Yield what a script sets, by its usual value."""
        gone = "it does not occur"
        change = Alternative("weight_decay", "no weight decay")
        yield change, "weight_decay", f"weight decay: without it {gone}", {}
        change = Alternative("momentum", "momentum of at most 0.9", value=0.9)
        yield change, "momentum", f"the momentum: with at most 0.9 {gone}", {}
        most = _ORDINARY_EPSILON
        change = Alternative("epsilon", f"epsilon of at most {most:g}", value=most)
        yield change, "epsilon", f"the epsilon of the optimizer: with at most {most:g} {gone}", {}
        change = Alternative("unclipped", "gradients are not clipped")
        yield change, "clipping", f"clipped gradients: without clipping {gone}", {}
        if sign_of(self.anomaly.finding) == "outcome":
            yield from self._paces()
        if not self._has_rate_jump():
            return
        change = Alternative("held", f"the learning rate of step {self.anomaly.first} all along")
        text = f"the change of the learning rate: as in TRAIN step {self.anomaly.first} {gone}"
        yield change, "schedule", text, {"train_step": self.anomaly.first}

    def _sizes(self) -> Iterator[Candidate]:
        """Yield smaller and larger updates."""
        sign, gone = sign_of(self.anomaly.finding), "it does not occur"
        if sign == "outcome":
            return  # a loss that does not fall may do so at another rate, whatever the cause
        if sign not in _TOO_SMALL:
            norm = self._ordinary_gradient_norm()
            if norm is not None:
                change = Alternative("clip", f"gradients clipped to {norm:.3g}", value=norm)
                text = f"gradients that are too large: clipped to {norm:.3g} {gone}"
                yield change, "gradients", f"{text}; that is usual before", {"norm": norm}
            for factor, words in _SMALLER:
                change = Alternative("rate", f"{words} of the learning rate", value=factor)
                text = f"the size of the updates: with {words} of the learning rate {gone}"
                yield change, "rate", text, {"factor": factor}
        else:
            least = _ORDINARY_RATE
            change = Alternative("least_rate", f"{least:g} where the rate is 0", value=least)
            text = f"a learning rate of 0: with {least:g} {gone}"
            yield change, "no_rate", text, {"rate": least}
            for factor in (10, 100, 1000, 10_000):
                change = Alternative("rate", f"{factor} times the learning rate", value=factor)
                text = f"updates that are too small: with {factor} times the learning rate {gone}"
                yield change, "pace", text, {"factor": factor}

    def _first_of(self, candidates: Iterable[Candidate]) -> Proof | None:
        """Return the proof by the first change that removes it, unless any would."""
        for change, cause, text, more in candidates:
            if self._try(change) == REMOVES:
                return self._proved(cause, text, more) if self._is_robust() else None
        return None

    def _is_robust(self) -> bool:
        """Return whether it remains where next to nothing is changed.

        Else it may be gone for any other digit, as on the edge of what the rule finds.
        """
        if self._robust is None:
            placebo = Alternative("rate", "99 % of the learning rate", value=0.99)
            is_one = self.anomaly.num_steps < 2
            self._robust = is_one or self._try(placebo, is_control=True) != REMOVES
        return self._robust

    def _has_rate_jump(self) -> bool:
        """Return whether a learning rate becomes another from one of the steps to the next."""
        rates: dict[str, float] = {}
        for record in self._again:
            for row in record.layout.rows_of.get("learning_rates", ()):
                name, now = record.layout.tensors[row].name, float(record.statistics[row, SUM])
                before = rates.get(name, now)
                rates[name] = now
                if max(now, before) > _RATE_JUMP * min(now, before):
                    return True
        return False

    def _ordinary_gradient_norm(self) -> float | None:
        """Return the median norm of all gradients in the steps before the anomaly."""
        return None if len(norms := self._norms()) < _ORDINARY_STEPS else float(np.median(norms))

    def _norms(self) -> list[float]:
        end = min(self._mode_step_of(self.anomaly.finding), self.anomaly.first)
        norms = [
            gradient_norm(record)
            for record in self.anomaly.records
            if record.mode is Mode.TRAIN and record.mode_step < end
        ]
        return [one for one in norms if one > 0 and math.isfinite(one)]

    # What does not come again

    def _not_reproduced(self, plain: Replayed) -> Proof:
        """Two replays that agree with each other and not with the run: was it the machine?"""
        again = self.run(Alternative(AS_RECORDED, AS_RECORDED))
        self._note(AS_RECORDED, AS_RECORDED, NOT_AGAIN)
        apart, known = plain.facts.get("apart"), plain.facts.get("agreed", [])
        if again.error or not _agree(plain.records, again.records):
            return self._open(
                "run again, its step comes out differently each time: the program is not "
                "deterministic (try: stepwatch replay --deterministic)"
            )
        if apart is None and known:
            return self._open(
                f"run again its state agrees with the run up to TRAIN step {max(known)}, bit for "
                f"bit, and yet {self.anomaly.finding.rule} finds nothing: it looks at what a "
                "replay does not show"
            )
        if apart is None:
            return self._open(
                "run again from the recorded state it does not come, and no later snapshot tells "
                "where the run parted; record more: stepwatch run --snapshot every=1"
            )
        step, tensors = apart["step"], apart["tensors"]
        weights = [one for one in tensors if one["name"].startswith("model/")]
        single = {_element(one) for one in tensors}
        is_one = (
            (step - 1 in known or step - 1 == self.anomaly.first)
            and len(single) == 1
            and None not in single
            and all(one["of"] >= _FEWEST_ELEMENTS for one in tensors)
        )
        first = tensors[0]
        name = first["name"].removeprefix("model/")
        if not is_one:
            return self._open(
                f"run again it does not come, and two replays agree: the run parted from its own "
                f"program between TRAIN steps {step - 1} and {step}, first seen in {name} (the "
                "machine, or something that is not recorded)"
            )
        flip = self._flipped_bit(step, weights[0]) if weights else ""
        text = (
            f"one number, changed by nothing in the program: after TRAIN step {step - 1} element "
            f"{first['index']} of {name} was {first['recorded']:.6g} in the run and is "
            f"{first['replayed']:.6g} in two replays, while all other numbers agree bit for bit"
            f"{flip}"
        )
        return self._proved("memory", text, {"train_step": step - 1, **first})

    def _flipped_bit(self, step: int, weight: Mapping[str, Any]) -> str:
        before = self.snapshots.get(step - 1)
        array = None if before is None else before.arrays.get(weight["name"])
        if array is None or array.dtype != np.float32:
            return ""
        old = np.asarray(array, np.float32).reshape(-1)[weight["index"]]
        update = float(weight["replayed"]) - float(old)
        bits = np.array([old], np.float32).view(np.uint32)
        for bit in range(32):
            flipped = float((bits ^ np.uint32(1 << bit)).view(np.float32)[0]) + update
            if math.isclose(flipped, weight["recorded"], rel_tol=1e-6):
                return f"; it is bit {bit}, flipped"
        return ""

    # How

    def _try(self, change: Alternative, *, is_control: bool = False) -> str:
        """Run the steps again under a change, and return whether the anomaly remains."""
        if len(self.tried) >= _MOST_REPLAYS and not is_control:
            return REMAINS
        if self._is_set_already(change):
            self._note(change.kind, change.text, NOT_THIS, "it changes nothing")
            return NOT_THIS
        replayed = self.run(change)
        self._facts, self._last = replayed.facts, replayed
        if replayed.error or not replayed.facts.get("changed"):
            why = replayed.error or "it changes nothing"
            self._note(change.kind, change.text, NOT_THIS, why)
            return NOT_THIS
        is_whole = len(replayed.records) == self.anomaly.num_steps
        if not is_whole:
            self._note(change.kind, change.text, NOT_THIS, "the script broke off")
            return NOT_THIS
        records, found = replayed.records, self.anomaly.remaining(replayed)
        if change.kind in ("rows", "own_rows", "clamp") and sign_of(self.anomaly.finding) in _ALONE:
            # Another batch in one step is no cause of what comes in later ones.
            last = self.anomaly.finding.step
            found = [one for one in found if one.step <= last]
            end = self._mode_step_of_step(last) - self.anomaly.first + 1
            records = records[:end]
        gone = not found and all_losses_finite(records)
        self._note(change.kind, change.text, REMOVES if gone else REMAINS)
        return REMOVES if gone else REMAINS

    def _is_set_already(self, change: Alternative) -> bool:
        """Return whether no optimizer has an option that a change is about, as far as is known."""
        holds: Mapping[str, tuple[str, Callable[[float], bool]]] = {
            "weight_decay": ("weight_decay", lambda value: value == 0),
            "momentum": ("momentum", lambda value: value <= change.value),
            "epsilon": ("eps", lambda value: value <= change.value),
            "least_rate": ("lr", lambda value: value > 0),
        }
        steps = range(self.anomaly.first, self.anomaly.last + 1)
        last = max((step for step in self.snapshots if step in steps), default=None)
        if change.kind not in holds or last is None:
            return False
        meta: Any = self.snapshots[last].meta
        groups = [group for one in meta.get("optimizers", ()) for group in one["param_groups"]]
        name, is_set = holds[change.kind]
        values = [group[name] for group in groups if isinstance(group.get(name), (int, float))]
        return bool(groups) and all(map(is_set, values))

    def _note(self, kind: str, text: str, outcome: str, why: str = "") -> None:
        self.tried.append(Tried(kind, text, outcome, why))
        self.shown(self.tried[-1])

    def _mode_step_of(self, finding: Finding) -> int:
        """Return the TRAIN step at which it began."""
        onset = finding.began
        return self._mode_step_of_step(onset)

    def _mode_step_of_step(self, step: int) -> int:
        """Return the TRAIN step of a global step, or the next one."""
        steps = [one for one in self.anomaly.records if one.mode is Mode.TRAIN]
        return next((one.mode_step for one in steps if one.step >= step), self.anomaly.last)

    def _proved(self, cause: str, text: str, more: Mapping[str, object] | None = None) -> Proof:
        return self._proof(cause, text, more)

    def _open(self, text: str) -> Proof:
        return self._proof("", text, None)

    def _proof(self, cause: str, text: str, more: Mapping[str, object] | None) -> Proof:
        finding = self.anomaly.finding
        return Proof(
            finding.finding_id,
            finding.rule,
            finding.step,
            bool(cause),
            cause,
            text,
            (self.anomaly.first, self.anomaly.last),
            tuple(self.tried),
            {} if more is None else dict(more),
        )


def why_not_proved(finding: Finding) -> str:
    """Return why no replay of some steps could prove the cause of a finding; empty if one may."""
    sign = sign_of(finding)
    is_evaluated = finding.mode == str(Mode.EVAL) and sign in _EVALUATED
    if finding.mode and finding.mode != str(Mode.TRAIN) and not is_evaluated:
        return f"it is about {finding.mode}, and TRAIN steps can be run again"
    if sign not in SIGNS:
        return (
            f"{finding.rule} is about how the training is set up, or about many steps: no replay "
            "of a few steps can show its cause"
        )
    return ""


def gradient_norm(record: StepRecord) -> float:
    """Return the norm of all gradients of a step; 0.0 where there are none."""
    rows = record.layout.rows_of.get("gradients")
    return 0.0 if rows is None else math.sqrt(float(record.statistics[rows, SUM_SQ].sum()))


def listed_rows(rows: Sequence[int]) -> str:
    """Return rows in words.

    Example:
        >>> listed_rows([3]), listed_rows([0, 1, 2, 5])
        ('row 3', 'rows 0-2, 5')
    """
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {as_ranges(sorted(rows))}"


def _agree(here: Sequence[StepRecord], there: Sequence[StepRecord]) -> bool:
    """Return whether two replays have the same losses and weights to the last bit."""
    if len(here) != len(there):
        return False
    for one, other in zip(here, there, strict=True):
        rows = one.layout.rows_of_any(("losses", "weights", "gradients"))
        others = other.layout.rows_of_any(("losses", "weights", "gradients"))
        if not np.array_equal(
            one.statistics[rows, SUM], other.statistics[others, SUM], equal_nan=True
        ):
            return False
    return True


def _element(one: Mapping[str, Any]) -> object:
    """Return which element differs; ``None`` where it is not exactly one of a tensor."""
    return one["index"] if one["elements"] == 1 else None


def _layer_of(tensor: str) -> str:
    """Return the path of the module that a tensor belongs to; empty where it is none.

    Example:
        >>> _layer_of("gradient/layers.0.weight"), _layer_of("output/3"), _layer_of("loss/mse_loss")
        ('layers.0', '3', '')
    """
    kind, _, name = tensor.rpartition("/")
    if kind in ("output", "input"):
        return name
    if kind in ("loss", "learning_rate", "batch"):
        return ""
    return name.rpartition(".")[0]
