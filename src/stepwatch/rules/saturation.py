"""The rule on tanh and sigmoid units that are driven to where they have no slope."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..finding import Finding
from ..statistics import MAX, MIN
from .checks import listed, number
from .scope import Selection, above
from .step_view import StepView
from .units import ActivityRule, Floats, Inactive, Shares, merged, raw_values, unit_shares

SUMMARY = "inside/"
TANH, SIGMOID = "tanh", "sigmoid"

#: The rows of a summary: derivatives above these, and inside of smdebug's interval.
_FLOORS = (1e-2, 1e-4, 1e-7)
_SMDEBUG_ROW = 3
_SMDEBUG = {TANH: (-9.4999, 9.4999), SIGMOID: (-23.0, 16.99999)}

Interval = tuple[float, float]


def interval(kind: str, floor: float) -> Interval:
    """Return where the derivative of a function is above ``floor``; by solving for it.

    Args:
        kind: ``tanh`` or ``sigmoid``.
        floor: Above 0, and below the largest derivative, which is 1 or 1/4.

    Example:
        >>> [round(edge, 3) for edge in (*interval("tanh", 1e-7), *interval("sigmoid", 1e-7))]
        [-8.752, 8.752, -16.118, 16.118]
    """
    if kind == TANH:
        edge = math.atanh(math.sqrt(1 - floor))
    else:
        root = math.sqrt(1 - 4 * floor)
        edge = math.log((1 + root) / (1 - root))
    return -edge, edge


def rounds_to_one(kind: str, dtype: str) -> float:
    """Return from where on a function is exactly 1 in a dtype; infinity for no floating one.

    That is where it is nearer to 1 than half a step of the dtype below 1.

    Example:
        >>> [round(rounds_to_one(kind, "bfloat16"), 2) for kind in ("tanh", "sigmoid")]
        [3.47, 6.24]
    """
    finfo: Callable[[str], object] = ml_dtypes.finfo  # ml_dtypes has no types
    try:
        bits = int(finfo(dtype).nmant) + 2  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return math.inf
    return (bits + 1) * math.log(2) / 2 if kind == TANH else bits * math.log(2)


class SaturatedActivation(ActivityRule):
    """Tanh or sigmoid units whose inputs are nearly always so large that they have no slope.

    Of inputs that are saved in full, those of ``collection_names`` and ``tensor_regex`` are
    judged; their names say ``tanh`` or ``sigmoid``. Else the shares that the hook measures, which
    it does for the default thresholds, and for a ``gradient_floor`` of 1e-2, 1e-4 and 1e-7.

    Args:
        collection_names: Inputs of these collections, where they are saved in full,
        tensor_regex: and those in whose name one of these finds itself.
        threshold_tanh_min: Inputs of tanh from here,
        threshold_tanh_max: to here, themselves not included, are fine.
        threshold_sigmoid_min: The same of sigmoid.
        threshold_sigmoid_max: The same of sigmoid.
        threshold_inactivity: A unit is saturated if less than this percentage of its inputs are
            fine.
        threshold_layer: A layer is if more than this percentage of its units are.
        gradient_floor: Take the four thresholds from where the derivative is this; above 0 and
            below 0.25.
        dtype_aware: Make the intervals of full values end where the function is exactly 1 in the
            dtype of its input, if they are wider.
    """

    name = "saturated_activation"
    fault, measured = "saturates", "tanh or sigmoid"

    def __init__(
        self,
        collection_names: Sequence[str] = (),
        tensor_regex: Sequence[str] = (".*tanh_input|.*sigmoid_input",),
        threshold_tanh_min: float = -9.4999,
        threshold_tanh_max: float = 9.4999,
        threshold_sigmoid_min: float = -23.0,
        threshold_sigmoid_max: float = 16.99999,
        threshold_inactivity: float = 1.0,
        threshold_layer: float = 50.0,
        gradient_floor: float | None = None,
        dtype_aware: bool = False,
    ) -> None:
        above("threshold_tanh_max", threshold_tanh_max, threshold_tanh_min)
        above("threshold_sigmoid_max", threshold_sigmoid_max, threshold_sigmoid_min)
        super().__init__(
            Selection(
                collection_names, tensor_regex, keep=lambda _, info: info.collection != "activity"
            ),
            SUMMARY,
            threshold_inactivity=threshold_inactivity,
            threshold_layer=threshold_layer,
        )
        self._intervals: dict[str, Interval] = {
            TANH: (threshold_tanh_min, threshold_tanh_max),
            SIGMOID: (threshold_sigmoid_min, threshold_sigmoid_max),
        }
        if gradient_floor is not None:
            above("gradient_floor", gradient_floor, 0, up_to=0.2499999)
            self._intervals = {kind: interval(kind, gradient_floor) for kind in (TANH, SIGMOID)}
        self._row = _summary_row(self._intervals, gradient_floor)
        self.tensor_regex = tuple(tensor_regex)
        self.dtype_aware = dtype_aware

    def unevaluated(self) -> str | None:
        if not self._judged and self._summaries.found_any and self._row is None:
            return "the hook measures no such interval; it needs full inputs: --save inputs:raw"
        return super().unevaluated()

    def _shares(self, step: StepView) -> Shares:
        """Return the share of inputs that are fine, of each unit of each layer."""
        found: dict[str, Shares] = {}
        for worker, name, value in raw_values(step, self._full):
            kind, (low, high) = self._interval_of(name, value.dtype.name)
            shares = unit_shares(value, _inside(low, high))
            if shares is None:
                self._flat[name] = None
            else:
                found.setdefault(worker, {})[f"{name} ({kind})"] = shares
        for worker, name, value in raw_values(step, self._summaries):
            if self._row is not None and value.ndim == 2 and value.size:
                module, _, kind = name.removeprefix(SUMMARY).rpartition("/")
                share = value[self._row].astype(np.float64)
                found.setdefault(worker, {})[f"{module} ({kind})"] = share
        return merged(found.values())

    def _interval_of(self, name: str, dtype: str) -> tuple[str, Interval]:
        kind = next((kind for kind in (TANH, SIGMOID) if kind in name.lower()), None)
        if kind is None:
            raise ConfigError(
                f"{name} was selected and says neither tanh nor sigmoid, so no threshold is known"
                "; narrow tensor_regex or collection_names"
            )
        low, high = self._intervals[kind]
        if self.dtype_aware:
            edge = rounds_to_one(kind, dtype)
            low, high = max(low, -edge) if kind == TANH else low, min(high, edge)
        return kind, (low, high)

    def _screen(self, step: StepView) -> None:
        """Note which inputs may saturate: those that do not all lie inside."""
        for group, names in self._full.groups(step):
            rows = group.record.statistics[group.rows]
            for name, info, row in zip(names, group.infos, rows, strict=True):
                _, (low, high) = self._interval_of(name, info.dtype)
                if not (low < row[MIN] and row[MAX] < high):
                    self._open[name] = None

    def _finding(self, step: StepView, inactive: list[Inactive], judged: int) -> Finding:
        worst = max(inactive, key=lambda one: one.percent)
        name, kind = worst.name.removesuffix(")").split(" (")
        low, high = self._intervals[kind]
        others = [one.name for one in inactive if one is not worst]
        also = f"; also {listed(others)}" if others else ""
        return Finding(
            self.name,
            step.number,
            name,
            f"{worst.name}: {number(worst.percent)}% of {worst.units} units have less than"
            f" {number(self.threshold_inactivity)}% of their inputs inside ({low:.6g}, {high:.6g})"
            f" (> {number(self.threshold_layer)}%) at step {step.number}; {len(inactive)} of"
            f" {judged} layers are saturated{also}",
            value=worst.percent,
            threshold=self.threshold_layer,
            condition=worst.name,
            remedy="normalize the inputs, or make the initialization smaller",
            evidence={"units": worst.units, "tensors": [one.name for one in inactive][:20]},
        )


def _inside(low: float, high: float) -> Callable[[Floats], npt.NDArray[np.bool_]]:
    return lambda values: (values > low) & (values < high)


def _summary_row(intervals: dict[str, Interval], floor: float | None) -> int | None:
    """Return which row of a summary is about these intervals; ``None`` if none is."""
    if floor is not None:
        return _FLOORS.index(floor) if floor in _FLOORS else None
    return _SMDEBUG_ROW if intervals == _SMDEBUG else None
