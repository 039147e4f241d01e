"""Workers that should hold the same and do not, or should get different data and do not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NotApplicable, Rule, few_steps
from ..judge.step_view import StepView
from ..model.collection import subject
from ..model.finding import Finding
from ..model.record import Layout, StepRecord
from ..numerics.measures import Floats, global_norm, listed, number, scalar_value
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
from .shared import in_a_row

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


_NOT_AVERAGED = {
    "unaveraged": (
        "each worker trains alone: DistributedDataParallel averages nothing, as its forward() was"
        " not called before backward()",
        "call the wrapper, model(x), where gradients are wanted, and not model.module(x) or the"
        " model that was wrapped; without gradients either will do",
    ),
    "unregistered": (
        "parameters are trained that DistributedDataParallel does not know: they came into the"
        " model, or were unfrozen, after it was wrapped",
        "wrap the model once it is complete and all that is to be trained requires gradients, and"
        " anew after each change",
    ),
    "discarded": (
        "the script sums tensors of the shapes of the gradients over the workers between backward()"
        " and the optimizer's step, and the optimizer does not use what comes of it",
        "write the mean back: dist.all_reduce(p.grad) and p.grad /= world_size, or"
        " p.grad.copy_(mean) where a copy was summed, as p.grad / world_size is one",
    ),
}


class ReplicaDivergence(Rule):
    """Workers that train one model and do not do the same: replicas, and parts of gradients.

    After each step all replicas hold the same parameters to the last bit. Corrupted memory
    (Meta: The Llama 3 herd of models, 2024), a step that one of them skips, or gradients that are
    not averaged make them differ, and no metric shows it (Jiang et al.: Training with confidence:
    catching silent errors in deep learning training, 2025). Parameters are compared by their
    digests if those are saved, else by their statistics; gradients, as the optimizer uses them, by
    their statistics.

    ``unaveraged``: gradients differ, and the ``forward()`` of ``DistributedDataParallel``, without
    which it averages none, was not called. ``unregistered``: gradients differ of parameters which
    that wrapper does not know, as they came into the model, or were unfrozen, once it was made.
    ``discarded``: the script averages copies of the gradients, and those that the optimizer uses
    differ. ``clipped_by_part``: gradients of which each worker holds a part are clipped by the norm
    of that part.
    ``diverged``: parameters that were the same and no longer are. ``never_equal``: none was ever
    the same. Where some are and others never were, those are parts of one model.
    ``same_data``: replicas that are the same are given the same, changing batches.

    Replicas whose gradients agree, or are averaged by the wrapper, part by a fault. Where none
    agrees and nobody averages them, parameters may be averaged every so many steps (Stich: Local
    SGD converges fast and communicates little, 2019), so that is waited for.

    Compared are steps that all workers recorded in full: while they train, by the first of them,
    and by ``stepwatch check``.
    """

    name = "replica_divergence"
    needs = ("weights", "gradients", "batches", "loop", "optimizer")
    training_only = True
    joint = True
    sign: ClassVar[Mapping[str, str]] = {
        "unaveraged": "unsynced",
        "unregistered": "unsynced",
        "discarded": "unsynced",
        "clipped_by_part": "scale",
        "*": "replicas",
    }
    view: ClassVar[Mapping[str, EvidenceView]] = {
        "clipped_by_part": EvidenceView("gradients", "l2"),
        "unaveraged*": EvidenceView("gradients", "l2"),
        "discarded": EvidenceView("gradients", "l2"),
        "*": EvidenceView("weights"),
    }

    consecutive: int = parameter(5, "TRAIN steps in a row.", at_least=1)
    if_certain: int = parameter(
        2, "TRAIN steps in a row where there is no innocent reason.", at_least=1
    )
    if_local: int = parameter(
        50, "TRAIN steps in a row where nobody is seen to average gradients.", at_least=1
    )

    def begin(self) -> None:
        self._known: dict[tuple[Layout, Layout, str], _Shared] = {}
        self._parts: WeakKeyDictionary[Layout, _Parts] = WeakKeyDictionary()
        self._last_norm = math.nan
        self._were_equal: set[str] = set()
        self._last_batch: set[int] = set()
        self._compared = 0
        self._holders: set[str] = set()
        # Steps in a row at which replicas differed, and the most after which they agreed again.
        self._apart = self._most_apart = 0

    def check(self, step: StepView) -> Findings:
        if len(step.records) < 2 or len({(one.mode, one.mode_step) for one in step.records}) > 1:
            return
        yield from self._evaluate_clipping(step)
        if not self._are_full(step):
            return
        weights = self._compare(step, "weights")
        if weights.names:
            self._compared += 1
            gradients = self._compare(step, "gradients")
            averaging = _Averaging.of(step)
            yield from self._evaluate_averaging(step, weights, gradients, averaging)
            yield from self._evaluate_weights(step, weights, gradients, averaging)
        yield from self._evaluate_data(step, agree=bool(weights.names) and not weights.apart)

    def unevaluated(self) -> str | None:
        if not self._compared:
            return NotApplicable(
                "no step had parameters of several workers; stepwatch check RUN judges all workers"
            )
        return few_steps(self._compared, self.consecutive)

    def _are_full(self, step: StepView) -> bool:
        """Return whether each worker recorded what it ever does.

        By a budget each chooses by itself which steps it records in full. One that evaluates by
        itself counts more global steps than the others.
        """
        holders = {one.worker for one in step.records if "weights" in one.layout.rows_of}
        self._holders |= holders
        return self._holders.intersection(step.workers) <= holders

    def _compare(self, step: StepView, collection: str) -> _Comparison:
        """Compare what the first worker has of a collection with what each other has."""
        first, *others = step.records
        names: dict[str, None] = {}
        apart: dict[str, list[str]] = {}
        for other in others:
            shared = self._shared(first, other, collection)
            names |= dict.fromkeys(shared.telling(first, other))
            for name in shared.differing(first, other):
                apart.setdefault(name, []).append(other.worker)
        return _Comparison(tuple(names), apart)

    def _shared(self, first: StepRecord, other: StepRecord, collection: str) -> _Shared:
        key = first.layout, other.layout, collection
        if key not in self._known:
            if len(self._known) > 64:
                self._known.clear()
            self._known[key] = _Shared(first.layout, other.layout, collection)
        return self._known[key]

    def _evaluate_averaging(
        self,
        step: StepView,
        weights: _Comparison,
        gradients: _Comparison,
        averaging: _Averaging,
    ) -> Findings:
        """Judge what ``DistributedDataParallel``, or the script, did with gradients that differ."""
        apart = gradients.differing
        # What is summed may be something else where some agree, or replicas agree from time to time
        discards = len(apart) == len(gradients.names) <= averaging.summed and not self._most_apart
        for condition, holds, needed in (
            ("unaveraged", averaging.unaveraged, self.if_certain),
            ("unregistered", averaging.unregistered, self.if_certain),
            ("discarded", discards and bool(weights.apart), self.consecutive),
        ):
            if not self.persists(condition, holds and bool(apart), needed):
                continue
            why, remedy = _NOT_AVERAGED[condition]
            yield self.finding(
                step,
                apart[0],
                f"{why}; {len(apart)} of {len(gradients.names)} gradients ({listed(apart)}) differ"
                f" between {len(step.workers)} workers, {in_a_row(needed, 'TRAIN step')} up"
                f" to step {step.train_step}",
                worker="",
                value=float(len(apart)),
                threshold=0.0,
                severity="error",
                condition=condition,
                remedy=remedy,
                evidence={"parameters": [subject(name) for name in apart[:20]]},
            )

    def _evaluate_weights(
        self,
        step: StepView,
        weights: _Comparison,
        gradients: _Comparison,
        averaging: _Averaging,
    ) -> Findings:
        names, apart = weights.names, weights.differing
        diverged = [name for name in apart if name in self._were_equal]
        self._were_equal.update(name for name in names if name not in weights.apart)
        never = not diverged and len(apart) == len(names)
        if apart:
            self._apart += 1
        else:
            self._most_apart = max(self._most_apart, self._apart)
            self._apart = 0
        is_local = self._may_be_local(step, gradients, averaging)
        if is_local:  # parameters may be averaged more rarely than they were so far
            needed = max(self.if_local, 4 * self._most_apart)
        else:
            is_certain = averaging.all_averaged or gradients.agree_of(diverged or apart)
            needed = self.if_certain if is_certain else self.consecutive
        for condition, holds in (("diverged", bool(diverged)), ("never_equal", never)):
            if self.persists(condition, holds, needed):
                severity = "warning" if is_local else "error"
                found = self._finding(step, condition, diverged or apart, weights, needed)
                yield replace(found, severity=severity)

    def _may_be_local(self, step: StepView, gradients: _Comparison, averaging: _Averaging) -> bool:
        """Return whether replicas may differ because each is to train by itself for a while."""
        # Where most workers agree with the first in any gradient, the others are the odd ones.
        most = (len(step.workers) - 1) / 2
        nobody = bool(gradients.names) and all(
            len(gradients.apart.get(name, ())) > most for name in gradients.names
        )
        is_known = averaging.all_averaged or averaging.unaveraged or averaging.unregistered
        # What lies in parts is averaged in being cut.
        is_known |= any(record.layout.has_parts for record in step.unassembled)
        return averaging.local or (nobody and not is_known)

    def _finding(
        self,
        step: StepView,
        condition: str,
        apart: Sequence[str],
        weights: _Comparison,
        needed: int,
    ) -> Finding:
        away = weights.apart[apart[0]]
        # the first worker is what others are compared with: it is the odd one if all others differ
        odd = [step.workers[0]] if 1 < len(away) == len(step.workers) - 1 else away
        who = f"{listed(odd)} from the others" if len(step.workers) > 2 else "the two workers"
        what = "are no longer the same" if condition == "diverged" else "were never the same"
        return self.finding(
            step,
            apart[0],
            f"{listed(apart)}: {len(apart)} of {len(weights.names)} parameters {what} in"
            f" {len(step.workers)} workers ({who}), {in_a_row(needed, 'TRAIN step')} up to step"
            f" {step.train_step}",
            worker=odd[0] if len(step.workers) > 2 else "",
            value=float(len(apart)),
            threshold=0.0,
            condition=condition,
            remedy="average the gradients of all workers at each step (in PyTorch wrap the model in"
            " DistributedDataParallel and call the wrapper); if one worker alone is off, look at"
            " what it does differently, and test its memory",
            evidence={"parameters": list(apart[:20]), "workers": odd[:20]},
        )

    def _evaluate_clipping(self, step: StepView) -> Findings:
        """Judge whether each worker clips its parts of gradients by what these alone amount to."""
        parts = self._different_parts(step)
        if len(parts) < 2:
            return
        norms = [part.norm for part in parts]
        # To one length at each step, and not the same gradients: that is what clipping does.
        are_alike = all(_is(norm, norms[0]) for norm in norms) and not all(
            _is(part.sum_abs, parts[0].sum_abs, 1e-3) for part in parts
        )
        last, self._last_norm = self._last_norm, norms[0] if are_alike else math.nan
        is_bound = are_alike and (math.isnan(last) or _is(norms[0], last))
        by_own = all(part.is_clipped_by_itself for part in parts)
        factors = [part.factor for part in parts]
        cut_apart = by_own and not all(_is(one, max(factors), 1e-3) for one in factors)
        if not self.persists("clipped_by_part", is_bound or cut_apart, self.if_certain):
            return
        each = listed(f"{part.worker} {number(part.before)}" for part in parts) if by_own else ""
        whole = math.sqrt(sum(norm**2 for norm in norms))
        yield self.finding(
            step,
            parts[0].tensor,
            "gradients of which each worker holds a part are clipped by the norm of that part"
            + (f" ({each})" if each else "")
            + f": {listed(map(number, norms))} is left of them in {len(parts)} workers, and"
            f" {number(whole)} in all, {in_a_row(self.if_certain, 'TRAIN step')} up to step"
            f" {step.train_step}",
            worker="",
            value=max(norms),
            threshold=whole,
            severity="error",
            condition="clipped_by_part",
            remedy="clip by the norm of the whole: torch.nn.utils.clip_grad_norm_ does so with"
            " parameters that are DTensors, and of what it returns full_tensor() is to be logged;"
            " by hand, add up the squares of all workers before the root is taken",
        )

    def _different_parts(self, step: StepView) -> list[_ClippedPart]:
        """Return what each worker holds of the gradients that all hold parts of.

        Of workers that hold the same parts the first counts.
        """
        found: dict[object, _ClippedPart] = {}
        names: tuple[str, ...] = ()
        for record in step.unassembled:
            if not record.layout.has_parts:
                continue
            parts = self._parts.get(record.layout)
            if parts is None:
                parts = self._parts[record.layout] = _Parts.of(record.layout)
            if not parts.names or (names and parts.names != names):
                return []
            names = parts.names
            part = _ClippedPart.of(record, parts)
            if math.isnan(part.norm):  # not finite
                return []
            if part.norm > 0:
                found.setdefault(parts.offsets, part)
        return list(found.values())

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
                f" row up to step {step.train_step}: each sample counts {len(twins)} times",
                value=float(len(twins)),
                threshold=1.0,
                condition="same_data",
                remedy="give each worker a share of the data of its own (in PyTorch by a"
                " DistributedSampler), or shuffle with a seed that depends on the rank",
            )


class _Shared:
    """The parameters, or their gradients, that two layouts both hold as a whole.

    Args:
        first: One layout.
        second: The other.
        collection: ``weights`` or ``gradients``.
    """

    def __init__(self, first: Layout, second: Layout, collection: str) -> None:
        pairs = [
            (row, other)
            for row in first.rows_of.get(collection, np.empty(0, np.intp)).tolist()
            if (other := second.row_of.get(first.tensors[row].name)) is not None
            and first.tensors[row].shape == second.tensors[other].shape
            and first.tensors[row].offset is None
        ]
        self._rows = np.array([pair[0] for pair in pairs], np.intp)
        self._others = np.array([pair[1] for pair in pairs], np.intp)
        self._are_weights = collection == "weights"
        self.names = tuple(first.tensors[row].name for row, _ in pairs)

    def telling(self, first: StepRecord, second: StepRecord) -> list[str]:
        """Return the names of those that are not the same anyway.

        Biases that begin at zero are the same in models that have nothing else in common, and so
        are gradients that are zero.
        """
        rows = first.statistics[self._rows]
        if self._are_weights:
            tells = rows[:, MIN] != rows[:, MAX]
        else:
            tells = (rows[:, SUM_ABS] != 0) | (second.statistics[self._others, SUM_ABS] != 0)
        return [self.names[index] for index in np.flatnonzero(tells)]

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


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What workers hold of one collection.

    Args:
        names: Of what is compared.
        apart: By the name of what differs, the workers in which it is not what it is in the first.
    """

    names: tuple[str, ...]
    apart: Mapping[str, Sequence[str]]

    @property
    def differing(self) -> list[str]:
        """The names of what is compared and differs."""
        return [name for name in self.names if name in self.apart]

    def agree_of(self, parameters: Sequence[str]) -> bool:
        """Return whether gradients of these parameters are compared, and all are the same."""
        names = {f"gradient/{name}" for name in parameters}.intersection(self.names)
        return bool(names) and names.isdisjoint(self.apart)


_COUNTS = (
    *(f"loop/{kind}_gradients" for kind in ("averaged", "unaveraged", "unregistered", "local")),
    "loop/all_reduced",
)


@dataclass(frozen=True, slots=True)
class _Averaging:
    """What was done to average the gradients of a step, in the words of all workers.

    By the wrappers of models, but for the last.

    Args:
        all_averaged: They averaged all gradients of their models, so that these are the same.
        unaveraged: They averaged none of some model, of which there are gradients.
        unregistered: There are gradients of parameters that they do not know.
        local: Gradients are not averaged, or otherwise, on purpose.
        summed: Of how many gradients each worker summed a tensor of the same shape.
    """

    all_averaged: bool
    unaveraged: bool
    unregistered: bool
    local: bool
    summed: float

    @classmethod
    def of(cls, step: StepView) -> _Averaging:
        """Return what the workers of a step said."""
        counts = np.array([step.scalars(_COUNTS, worker) for worker in step.workers])
        averaged, unaveraged, unregistered, local, summed = np.nan_to_num(counts).T
        is_local = bool((local > 0).any())
        is_odd = (unaveraged > 0) | (unregistered > 0) | (local > 0)
        return cls(
            all_averaged=bool((averaged > 0).all() and not is_odd.any()),
            unaveraged=bool((unaveraged > 0).all()),
            unregistered=bool((unregistered > 0).all() and not (unaveraged > 0).any())
            and not is_local,
            local=is_local,
            summed=float(summed.min()),
        )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of gradients in a layout.

    Args:
        rows: Their rows.
        all_rows: The rows of all gradients.
        names: Their names.
        offsets: Where they begin.
    """

    rows: npt.NDArray[np.intp]
    all_rows: npt.NDArray[np.intp]
    names: tuple[str, ...]
    offsets: tuple[tuple[int, ...] | None, ...]

    @classmethod
    def of(cls, layout: Layout) -> _Parts:
        """Return those of a layout."""
        all_rows = layout.rows_of.get("gradients", np.empty(0, np.intp))
        rows = [row for row in all_rows.tolist() if layout.tensors[row].offset is not None]
        return cls(
            np.array(rows, np.intp),
            all_rows,
            tuple(layout.tensors[row].name for row in rows),
            tuple(layout.tensors[row].offset for row in rows),
        )


# How far apart the norms of what was clipped to one length may be, relative to it: clipping adds
# 1e-6 to the norm that it divides by.
_SAME = 1e-4
# The norm that a worker used and that of its part, which is added up in another way.
_OWN = 1e-2


def _is(one: float, other: float, tolerance: float = _SAME) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


@dataclass(frozen=True, slots=True)
class _ClippedPart:
    """What a worker holds of gradients of which others hold the rest, as the optimizer used it.

    Args:
        worker: The worker.
        tensor: The first of the gradients.
        norm: The l2 norm of its parts; nan if one is not finite.
        sum_abs: The sum of their magnitudes.
        own: The l2 norm of all gradients that it holds.
        before: The norm by which it clipped; nan if it is not known that it did.
        after: What clipping left of that norm.
    """

    worker: str
    tensor: str
    norm: float
    sum_abs: float
    own: float
    before: float
    after: float

    @classmethod
    def of(cls, record: StepRecord, parts: _Parts) -> _ClippedPart:
        """Return what a record holds."""
        rows = record.statistics[parts.rows]
        before, after = (
            scalar_value(record.statistics[row]) if row is not None else math.nan
            for row in (
                record.layout.row_of.get(f"optimizer/gradient_norm_{when}_clipping")
                for when in ("before", "after")
            )
        )
        return cls(
            record.worker,
            parts.names[0],
            global_norm(rows),
            float(rows[:, SUM_ABS].sum()),
            global_norm(record.statistics[parts.all_rows]),
            before,
            after,
        )

    @property
    def is_clipped_by_itself(self) -> bool:
        """Whether what clipping left is the norm of what this worker holds."""
        return self.after > 0 and _is(self.after, self.own, _OWN)

    @property
    def factor(self) -> float:
        """By what it was multiplied."""
        return self.after / self.before if self.before > 0 else 1.0
