"""The rule on ReLUs that are never active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, MIN, ZEROS
from .checks import listed, number
from .rule import Findings, Rule
from .scope import Selection, at_least, within
from .step_view import StepView
from .units import Inactive, Layers, Shares, cannot_fire, merged, raw_values, unit_shares

SUMMARY = "active/"


class DeadRelu(Rule):
    """ReLUs of which most units hardly ever give anything but zero.

    Of outputs that are saved in full, those matching ``tensor_regex`` are judged; else the shares
    of active values that the hook measures of every ReLU.

    Args:
        tensor_regex: Outputs of ReLUs, where they are saved in full.
        threshold_inactivity: A unit is dead if less than this percentage of its values are
            above 0.
        threshold_layer: A layer is if more than this percentage of its units are.
        window: Take the values of so many saved steps together; small batches need it.
        channel_axis: The axis of the units in full values; by default the last of three axes, and
            the second of any other number.
    """

    name = "dead_relu"
    evidence = ("activity:raw:every=10",)
    compat: ClassVar[Mapping[str, object]] = {"tensor_regex": (".*relu_output",)}

    def __init__(
        self,
        tensor_regex: Sequence[str] = ("(?i)relu_output",),
        threshold_inactivity: float = 1.0,
        threshold_layer: float = 50.0,
        window: int = 1,
        channel_axis: int | None = None,
    ) -> None:
        within("threshold_inactivity", threshold_inactivity, 0, 100)
        within("threshold_layer", threshold_layer, 0, 100)
        at_least("window", window, 1)
        self.tensor_regex = tuple(tensor_regex)
        self.threshold_inactivity, self.threshold_layer = threshold_inactivity, threshold_layer
        self.channel_axis = channel_axis
        self._outputs = Selection(
            (), tensor_regex, keep=lambda _, info: info.collection != "activity"
        )
        self._summaries = Selection((), (f"^{SUMMARY}",))
        self._layers = Layers(threshold_inactivity, threshold_layer, window)
        self._judged = False
        self._flat: dict[str, None] = {}
        self._open: dict[str, None] = {}

    def check(self, step: StepView) -> Findings:
        shares = self._shares(step)
        if shares:
            self._judged = True
        elif not self._judged:
            self._screen(step)
        inactive = self._layers.add(shares)
        if inactive:
            yield self._finding(step, inactive, len(shares))

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        if self._flat:
            return f"{listed(self._flat)}: of one sample without a batch no share can be taken"
        if self._open:
            return (
                f"statistics alone cannot tell whether {listed(self._open)} is dead; save how"
                " active each unit is: --save activity:raw:every=10"
            )
        if self._outputs.found_any:
            return None  # the screen proved all of them well
        return "no ReLU was measured, and " + (self._outputs.missing() or "")

    def _shares(self, step: StepView) -> Shares:
        """Return the activity of each unit of each ReLU, shape ``[units]``."""
        found: dict[str, Shares] = {}
        for worker, name, value in raw_values(step, self._outputs):
            shares = unit_shares(value, lambda x: x > 0, self.channel_axis)
            if shares is None:
                self._flat[name] = None
            else:
                found.setdefault(worker, {})[name] = shares
        for worker, name, value in raw_values(step, self._summaries):
            output = f"output/{name.removeprefix(SUMMARY)}"
            if value.size and output not in found.get(worker, ()):
                found.setdefault(worker, {})[name] = value.astype(np.float64)
        return merged(found.values())

    def _screen(self, step: StepView) -> None:
        """Note which outputs may be dead, by the zeros among all their values."""
        inactivity, layer = self.threshold_inactivity / 100, self.threshold_layer / 100
        for group, names in self._outputs.groups(step):
            rows = group.record.statistics[group.rows]
            active = np.where(rows[:, MIN] >= 0, 1 - rows[:, ZEROS] / rows[:, COUNT], 0.0)
            for name, share in zip(names, active.tolist(), strict=True):
                if not cannot_fire(share, inactivity, layer):
                    self._open[name] = None

    def _finding(self, step: StepView, inactive: list[Inactive], judged: int) -> Finding:
        worst = max(inactive, key=lambda one: one.percent)
        name = worst.name.removeprefix(SUMMARY)
        others = [one.name.removeprefix(SUMMARY) for one in inactive if one is not worst]
        also = f"; also {listed(others)}" if others else ""
        return Finding(
            self.name,
            step.number,
            worst.name,
            f"{name}: {number(worst.percent)}% of {worst.units} units are active on less than"
            f" {number(self.threshold_inactivity)}% of their values"
            f" (> {number(self.threshold_layer)}%) at step {step.number}; {len(inactive)} of"
            f" {judged} ReLUs are dead{also}",
            value=worst.percent,
            threshold=self.threshold_layer,
            condition=worst.name,
            remedy="lower the learning rate, make biases less negative, or use LeakyReLU or GELU",
            evidence={"units": worst.units, "tensors": [one.name for one in inactive][:20]},
        )
