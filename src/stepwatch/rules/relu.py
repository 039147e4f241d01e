"""The rule on ReLUs that are never active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, MIN, ZEROS
from .checks import listed, number
from .scope import Selection, at_least
from .step_view import StepView
from .units import (
    ActivityRule,
    Inactive,
    Shares,
    cannot_fire,
    merged,
    raw_values,
    unit_shares,
)

SUMMARY = "active/"


class DeadRelu(ActivityRule):
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
    fault, measured = "is dead", "ReLU"
    compat: ClassVar[Mapping[str, object]] = {"tensor_regex": (".*relu_output",)}

    def __init__(
        self,
        tensor_regex: Sequence[str] = ("(?i)relu_output",),
        threshold_inactivity: float = 1.0,
        threshold_layer: float = 50.0,
        window: int = 1,
        channel_axis: int | None = None,
    ) -> None:
        at_least("window", window, 1)
        full = Selection((), tensor_regex, keep=lambda _, info: info.collection != "activity")
        super().__init__(
            full,
            SUMMARY,
            threshold_inactivity=threshold_inactivity,
            threshold_layer=threshold_layer,
            window=window,
        )
        self.tensor_regex = tuple(tensor_regex)
        self.channel_axis = channel_axis

    def _shares(self, step: StepView) -> Shares:
        """Return the activity of each unit of each ReLU, shape ``[units]``."""
        found: dict[str, Shares] = {}
        for worker, name, value in raw_values(step, self._full):
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
        for group, names in self._full.groups(step):
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
