"""The rule on tensors that stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..finding import Finding
from ..record import Layout, TensorInfo
from ..statistics import COUNT
from .checks import listed, number
from .likeness import ALIKE, UNLIKE, UNSURE, Digests, Tolerance, sums_are_apart, verdicts
from .onsets import Onsets
from .past import Past, Places, Where
from .rule import Findings, Rule
from .scope import Selection, at_least
from .step_view import StepView, TensorGroup


class UnchangedTensor(Rule):
    """Tensors of which the last values are all the same, within a tolerance.

    Each older value is compared with the newest: a slow drift is a change. Frozen parameters are
    left out. Values of one mode are compared with each other, and of one worker.

    Args:
        collection_names: Look at the tensors of these collections,
        tensor_regex: and at those in whose name one of these finds itself. One of both is needed.
        num_steps: So many saved values in a row.
        rtol: Elements may differ by this fraction of the newest,
        atol: and by this. Integers must be equal.
        equal_nan: Whether nan is the same as nan.
        include_frozen: Look at frozen parameters, too.
    """

    name = "unchanged_tensor"
    compat: ClassVar[Mapping[str, object]] = {"include_frozen": True}

    def __init__(
        self,
        collection_names: Sequence[str] = (),
        tensor_regex: Sequence[str] = (),
        num_steps: int = 3,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
        include_frozen: bool = False,
    ) -> None:
        if not (collection_names or tensor_regex):
            raise ConfigError("say which tensors, by collection_names=weights or tensor_regex=fc")
        at_least("num_steps", num_steps, 2)
        at_least("rtol", rtol, 0)
        at_least("atol", atol, 0)
        self.tensor_regex = tuple(tensor_regex)
        self.tolerance = Tolerance(rtol, atol, equal_nan)
        self.num_steps = num_steps
        self.evidence = (
            *(f"{name}:digest:every=10" for name in collection_names),
            *(f"/{regex}/:digest:every=10" for regex in tensor_regex),
        )
        keep = None if include_frozen else _may_change
        self._tensors = Selection(collection_names, tensor_regex, keep=keep)
        self._pasts: dict[tuple[str, str], Past] = {}
        self._onsets: dict[tuple[str, str], Onsets] = {}
        self._judged = False
        self._unsure: dict[str, None] = {}

    def check(self, step: StepView) -> Findings:
        for group, names in self._tensors.groups(step):
            key = group.record.worker, step.mode.value
            past = self._pasts.get(key)
            if past is None:
                past = self._pasts[key] = Past(self.num_steps - 1, self.tolerance)
            where, digests = past.where(group, names), Digests.of(group, names)
            same = self._is_unchanged(past, where, group, names, digests)
            onsets = self._onsets.setdefault(key, Onsets())
            for leader, members in onsets.update(names, same).items():
                steps = np.sort(past.steps[where.places[members[0]]]).tolist()
                yield self._finding(step, group, [names[one] for one in members], leader, steps)
            past.add(where, group, digests)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        if self._unsure:
            return (
                f"statistics alone cannot tell whether {listed(self._unsure)} changed by more than"
                " the tolerance; save digests or values, as with: --save weights:digest"
            )
        return self._tensors.missing() or f"no tensor was seen at {self.num_steps} steps of a mode"

    def _is_unchanged(
        self,
        past: Past,
        where: Where,
        group: TensorGroup,
        names: tuple[str, ...],
        digests: Digests,
    ) -> npt.NDArray[np.bool_]:
        """Return which tensors are what they were at all steps that are kept."""
        rows = group.record.statistics[group.rows]
        same: npt.NDArray[np.bool_] = past.is_full(where.places) & (rows[:, COUNT] != 0)
        # nearly everything has changed since, and one sum tells
        moved = sums_are_apart(past.rows[where.places, 0], rows, where.tolerance)
        self._judged |= bool((same & moved).any())
        same &= ~moved
        left = np.flatnonzero(same)
        if len(left):
            same[left] = self._are_alike(past, where, group, names, digests, left)
        return same

    def _are_alike(
        self,
        past: Past,
        where: Where,
        group: TensorGroup,
        names: tuple[str, ...],
        digests: Digests,
        left: Places,
    ) -> npt.NDArray[np.bool_]:
        """Return, of the tensors at these indices, which are what they were at all steps."""
        places = where.places[left]
        before = Digests(past.digests.values[places], past.digests.known[places])
        now = Digests(digests.values[left, np.newaxis], digests.known[left, np.newaxis])
        found = verdicts(
            (past.rows[places], before),
            (group.record.statistics[group.rows[left], np.newaxis], now),
            where.tolerance[left, np.newaxis],
            equal_nan=self.tolerance.equal_nan,
        )
        found[past.shapes[places] != where.shapes[left, np.newaxis]] = UNLIKE
        self._judged |= bool((found != UNSURE).all(axis=1).any())
        open_ = found == UNSURE if not group.record.raw else found != ALIKE
        for index in np.flatnonzero((found != UNLIKE).all(axis=1) & open_.any(axis=1)):
            self._ask_values(past, int(places[index]), names[left[index]], group, found[index])
        return np.asarray((found > UNSURE).all(axis=1))

    def _ask_values(
        self, past: Past, place: int, name: str, group: TensorGroup, found: npt.NDArray[np.int8]
    ) -> None:
        """Settle what is not proven of one tensor, where full values were saved."""
        for slot in np.flatnonzero(found != ALIKE).tolist():
            older, newest = past.full_value(place, slot, name), group.record.raw.get(name)
            if newest is not None and older is not None:
                found[slot] = ALIKE if self.tolerance.allows(older, newest) else UNLIKE
            elif found[slot] == UNSURE:
                self._unsure[name] = None

    def _finding(
        self, step: StepView, group: TensorGroup, names: list[str], leader: str, steps: list[int]
    ) -> Finding:
        rtol, atol = number(self.tolerance.rtol), number(self.tolerance.atol)
        also = f"; nor did {listed(names[1:])}" if len(names) > 1 else ""
        return Finding(
            self.name,
            step.number,
            names[0],
            f"{names[0]} did not change from step {steps[0]} to step {step.number}, over"
            f" {self.num_steps} saved values (rtol {rtol}, atol {atol}){also}",
            worker=group.record.worker,
            value=float(len(names)),
            threshold=0.0,
            condition=f"{leader} {step.mode.value}",
            remedy="see whether an optimizer holds it, whether its learning rate is 0, and whether"
            " it is frozen or cut off (detach(), stop_gradient)",
            evidence={"steps": [*steps, step.number], "tensors": names[:20]},
        )


def _may_change(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return tensor.trainable is not False
