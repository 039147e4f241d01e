"""Rules on nan and infinity: that there are some, and where the first came from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..statistics import NAN, NEGINF, POSINF
from .checks import headroom_bits, listed, number
from .origin import Origin, find_origin
from .rule import Findings, Rule
from .scope import Selection, at_least, compiled
from .step_view import StepView, TensorGroup, TensorView

#: Where minus infinity is meant: the masks of attention.
MASKS = r"attn_mask|causal_mask"

# Weights are those from before the step, so this is the order in which values came to be.
_ORDER = {"weights": 0, "outputs": 1, "inputs": 2, "losses": 3, "gradients": 4, "optimizer": 5}
_BACKWARD = ("gradients", "optimizer", "optimizer_states", "updates")
# What is measured of tensors and of the loop is nan where it is not known.
_MEASURES = ("quantiles", "embeddings", "loop")


class SkippedSteps:
    """Counts the steps in a row that a gradient scaler skipped, for each worker.

    A scaler looks for the largest scale that works, so now and then gradients overflow and the
    step is skipped. That is how it should be, unless it goes on.

    Args:
        tolerated: With so many in a row the gradients are no longer excused.
    """

    def __init__(self, tolerated: int) -> None:
        self._tolerated = tolerated
        self._in_a_row: dict[str, int] = {}

    def excuse(self, step: StepView, worker: str) -> bool:
        """Return whether the gradients of this step may be non-finite; ask once a step."""
        tensor = step.tensor("optimizer/skipped", worker)
        if tensor is None:
            return False
        skipped = tensor.statistics.mean > 0
        count = self._in_a_row[worker] = self._in_a_row.get(worker, 0) + 1 if skipped else 0
        return 0 < count < self._tolerated


class Episode:
    """Whose an episode is: that of the worker with whom it began, whoever is first later."""

    def __init__(self) -> None:
        self._worker = ""

    def of(self, worker: str) -> str:
        """Return the worker of the episode that goes on; it begins with ``worker`` else."""
        self._worker = self._worker or worker
        return self._worker

    def end(self) -> None:
        """All is well again."""
        self._worker = ""


class ExplodingTensor(Rule):
    """Nan or infinite elements; one finding for all tensors and workers of a step.

    Large finite values are not its business.

    Args:
        collection_names: Look at the tensors of these collections,
        tensor_regex: and at those in whose name one of these finds itself; at all by default.
        only_nan: Let infinities be.
        amp_skips: Let gradients be non-finite at steps that a gradient scaler skipped, unless
            so many are skipped in a row.
        allow_masks: Let outputs and inputs hold minus infinity, if nothing else of them is
            non-finite.
        exclude_regex: Not at tensors in whose name this finds itself.
    """

    name = "exploding_tensor"
    compat: ClassVar[Mapping[str, object]] = {"exclude_regex": None, "amp_skips": 1}

    def __init__(
        self,
        collection_names: Sequence[str] = (),
        tensor_regex: Sequence[str] = (),
        only_nan: bool = False,
        amp_skips: int = 3,
        allow_masks: bool = False,
        exclude_regex: str | None = MASKS,
    ) -> None:
        at_least("amp_skips", amp_skips, 1)
        compiled("exclude_regex", exclude_regex)
        self.tensor_regex = tuple(tensor_regex)
        self.only_nan = only_nan
        self.allow_masks = allow_masks
        self.exclude_regex = exclude_regex
        self._skipped = SkippedSteps(amp_skips)
        self._episode = Episode()
        self._tensors = Selection(
            collection_names, tensor_regex, keep=lambda _, info: info.collection not in _MEASURES
        )

    def check(self, step: StepView) -> Findings:
        bad: list[TensorView] = []
        for group, _ in self._tensors.groups(step):
            excused = self._skipped.excuse(step, group.record.worker)
            # nothing non-finite in the whole step, at nearly every step of nearly every run
            if (group.record.statistics[:, NAN : NEGINF + 1] > 0).any():
                bad += group.where(self._bad(group, excused=excused))
        if bad:
            yield self._finding(step, bad)
        else:
            self._episode.end()

    def unevaluated(self) -> str | None:
        return self._tensors.missing()

    def _bad(self, group: TensorGroup, *, excused: bool) -> npt.NDArray[np.bool_]:
        counts = group.record.statistics[group.rows, NAN : NEGINF + 1] > 0  # nan: not known
        judged = counts[:, :1] if self.only_nan else counts
        bad = np.asarray(judged.any(axis=1), bool)
        if self.exclude_regex:
            bad &= ~group.record.layout.matching(self.exclude_regex)[group.rows]
        kinds = np.array([info.collection for info in group.infos])
        if excused:
            bad &= ~np.isin(kinds, _BACKWARD)
        if self.allow_masks:
            bad &= counts[:, :2].any(axis=1) | ~np.isin(kinds, ("outputs", "inputs"))
        return bad

    def _finding(self, step: StepView, bad: Sequence[TensorView]) -> Finding:
        first = min(bad, key=lambda tensor: _ORDER.get(tensor.info.collection, 9))
        row = np.nan_to_num(first.record.statistics[first.row])
        counts = {"nan": int(row[NAN]), "posinf": int(row[POSINF]), "neginf": int(row[NEGINF])}
        infinite = counts["posinf"] + counts["neginf"]
        names = list(dict.fromkeys(tensor.name for tensor in bad))
        workers = {tensor.worker for tensor in bad}
        where = f" in {len(workers)} workers" if len(workers) > 1 else ""
        are = f"{len(names)} tensors{where} are" if len(names) > 1 else f"it{where} is"
        others = f"; {are} affected, this is the first" if len(bad) > 1 else ""
        return Finding(
            self.name,
            step.number,
            first.name,
            f"{first.name}: {counts['nan']} nan and {infinite} infinite of"
            f" {first.statistics.count} elements at step {step.number}{others}",
            worker=self._episode.of(first.worker),
            value=float(counts["nan"] + infinite),
            threshold=0.0,
            severity="error",
            condition="non_finite",
            remedy="lower the learning rate or clip gradients; check the data, and log, division"
            " and square root near zero",
            evidence={**counts, "tensors": names[:20]},
        )


_ASK_ALL = "ask stepwatch check RUN, which looks at all workers; if it was this one, "
_REMEDIES = {
    "data": "look at the batch of this step; filter or repair its samples",
    "previous update": "look at the step before: lower the learning rate, clip gradients, check"
    " the optimizer's state",
    "output": "look for log, division, square root or exponential in it, and for overflow of its"
    " dtype",
    "loss": "look for log of zero or overflow in the loss; clamp its input or use the version"
    " that takes logits",
    "gradient": "look for square root or norm at zero and for overflow in the backward pass of"
    " this layer; in low precision, check the loss scale",
}


class NonFiniteOrigin(Rule):
    """Where the first nan or infinity came from; everything after it is only its victim.

    Args:
        whitelist_regex: Tensors in whose name this finds itself may be non-finite. Minus
            infinity in an output needs no permission as long as nothing else goes wrong.
        max_frames: How many of the affected outputs are named as evidence.
        amp_skips: As in ExplodingTensor.
    """

    name = "non_finite_origin"

    def __init__(
        self,
        whitelist_regex: str | None = MASKS,
        max_frames: int = 20,
        amp_skips: int = 3,
    ) -> None:
        compiled("whitelist_regex", whitelist_regex)
        at_least("max_frames", max_frames, 1)
        at_least("amp_skips", amp_skips, 1)
        self.whitelist_regex = whitelist_regex
        self.max_frames = max_frames
        self._skipped = SkippedSteps(amp_skips)
        self._episode = Episode()

    def check(self, step: StepView) -> Findings:
        origins: list[tuple[str, Origin]] = []
        for record in step.records:
            excused = self._skipped.excuse(step, record.worker)
            if (record.statistics[:, NAN : NEGINF + 1] > 0).any():
                origin = find_origin(
                    step, record, whitelist=self.whitelist_regex, backward=not excused
                )
                if origin is not None:
                    origins.append((record.worker, origin))
        if not origins:
            self._episode.end()
            return
        # one worker's nan reaches the others by way of the gradients: the earliest stage is it
        worker, origin = min(origins, key=lambda pair: pair[1].stage)
        yield self._finding(step, worker, origin)

    def _finding(self, step: StepView, worker: str, origin: Origin) -> Finding:
        tensor = origin.tensor
        evidence = self._evidence(origin)
        headroom = evidence.get("headroom_bits")
        near = (
            f"; its inputs and parameters were within {number(float(headroom))} bits of overflow"
            if isinstance(headroom, float) and headroom < 8
            else ""
        )
        maybe_others = origin.cause == "gradient" and step.others
        return Finding(
            self.name,
            step.number,
            tensor.name,
            f"{origin.sentence} at step {step.number}{near}",
            worker=self._episode.of(worker),
            value=float(tensor.statistics.non_finite),
            threshold=0.0,
            severity="error",
            condition="non_finite",
            remedy=_ASK_ALL * maybe_others + _REMEDIES[origin.cause],
            evidence={"cause": origin.cause, "origin_worker": worker, **evidence},
        )

    def _evidence(self, origin: Origin) -> dict[str, object]:
        tensor = origin.tensor
        row = tensor.statistics
        sizes = {
            "input_abs_max": _largest(origin.inputs),
            "parameter_abs_max": _largest(origin.parameters),
        }
        largest = max((size for size in sizes.values() if not math.isnan(size)), default=math.nan)
        numbers = {**sizes, "headroom_bits": headroom_bits(tensor.info.dtype, largest)}
        return {
            "nan": row.nan,
            "posinf": row.posinf,
            "neginf": row.neginf,
            "count": row.count,
            "dtype": tensor.info.dtype,
            **{name: value for name, value in numbers.items() if not math.isnan(value)},
            **origin.notes,
            "frames": list(origin.affected[: self.max_frames]),
            "affected": listed(origin.affected),
        }


def _largest(group: TensorGroup) -> float:
    """Return the largest finite magnitude in a group; nan when there is none."""
    values = group.quantity("abs_max")
    finite = values[~np.isnan(values)]
    return float(finite.max()) if len(finite) else math.nan
