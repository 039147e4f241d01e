"""Rules on activations: too large, never active, or saturated.

A unit is an index along one axis: a channel, or a feature. Its activity is the share of its
values, over all other axes, for which a condition holds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout
from ..numerics.measures import Floats, dtype_max, listed, number
from ..numerics.statistics import COUNT, MAX, MIN, ZEROS
from .history import FirstValues
from .shared import Array, in_a_row, raw_values

#: The index of the median magnitude in a tensor of the collection ``quantiles``.
_MEDIAN_MAGNITUDE = 5


class ActivationOutlier(Rule):
    """Single activations that grow far beyond the others, or near what their dtype can hold.

    ``massive``: the largest magnitude is 1000 times the median and above 100 (Sun et al.: Massive
    activations in large language models, 2024), and it has grown: some models live well with
    those that stay. ``overflow``: it is above ``dtype_share`` of the largest number of the dtype.

    For the first, quantiles of outputs must be saved.
    """

    name = "activation_outlier"
    needs = ("outputs",)
    training_only = True
    sign = "drift"
    view = EvidenceView("outputs", "abs_max")
    evidence = ("quantiles:raw:every=10",)
    lacks = f"no quantiles of outputs were saved; save them with: --save '{evidence[0]}'"
    per_model = True

    min_ratio: float = parameter(
        1000.0, "The largest magnitude over the median magnitude.", above=1
    )
    min_magnitude: float = parameter(100.0, "The least magnitude that is massive.", above=0)
    min_growth: float = parameter(2.0, "So many times what it was at first.", above=1)
    dtype_share: float = parameter(
        0.5, "The share of the largest number of the dtype.", between=(0, 1)
    )
    consecutive: int = parameter(3, "Looks in a row, for the first.", at_least=1)
    warmup: int = parameter(3, "Looks of which the median is the magnitude at first.", at_least=1)

    def begin(self) -> None:
        self._first = FirstValues(self.warmup)
        self._limits: WeakKeyDictionary[Layout, Floats] = WeakKeyDictionary()

    def check(self, step: StepView) -> Findings:
        for group in step.groups("outputs"):
            rows = group.record.statistics[group.rows]
            largest = np.fmax(-rows[:, MIN], rows[:, MAX])
            yield from self._evaluate_overflow(step, group, largest)
            if group.record.raw:
                yield from self._evaluate_massive(step, group, largest)

    def _evaluate_overflow(self, step: StepView, group: TensorGroup, largest: Floats) -> Findings:
        with np.errstate(invalid="ignore"):
            limits = self._dtype_limits(group)
            # what is exactly the limit is a mask
            near = (largest > self.dtype_share * limits) & (largest < limits)
        # nearly never anything, and then few: one at a time
        for index in np.flatnonzero(near).tolist():
            tensor = group[index]
            limit = self.dtype_share * dtype_max(tensor.info.dtype)
            yield self.finding(
                step,
                tensor,
                f"{tensor.name}: the largest magnitude is {number(float(largest[index]))} at step"
                f" {step.train_step}, above {self.dtype_share:.0%} of what {tensor.info.dtype} can"
                " hold",
                value=float(largest[index]),
                threshold=limit,
                severity="error",
                condition=f"overflow {tensor.name}",
                remedy="compute this module in float32 or bfloat16, or normalize its input",
            )

    def _evaluate_massive(self, step: StepView, group: TensorGroup, largest: Floats) -> Findings:
        raw = group.record.raw
        for info, size in zip(group.infos, largest.tolist(), strict=True):
            quantiles = raw.get(f"quantiles/{info.name}")
            if quantiles is None:
                continue
            self._evaluated = True
            key = group.record.worker, info.name
            first = self._first.of(key, size)
            median = float(quantiles[_MEDIAN_MAGNITUDE])
            ratio = size / median if median > 0 else math.nan
            holds = (
                ratio > self.min_ratio
                and size > self.min_magnitude
                and size > self.min_growth * first
            )
            if self.persists(key, holds):
                yield self.finding(
                    step,
                    info.name,
                    f"{info.name}: the largest magnitude is {number(size)} at step"
                    f" {step.train_step},"
                    f" {number(ratio)} times the median (> {number(self.min_ratio)}), at first it"
                    f" was {number(first)}; {in_a_row(self.consecutive, 'look')}",
                    worker=group.record.worker,
                    value=ratio,
                    threshold=self.min_ratio,
                    condition=f"massive {info.name}",
                    remedy="look at the weights before it; lower the learning rate, or normalize",
                    evidence={"at_first": first, "abs_max": size},
                )

    def _dtype_limits(self, group: TensorGroup) -> Floats:
        known = self._limits.get(group.record.layout)
        if known is None:
            known = np.array([dtype_max(info.dtype) for info in group.infos])
            self._limits[group.record.layout] = known
        return known


Shares = dict[str, Floats]
Condition = Callable[[Floats], npt.NDArray[np.bool_]]


def unit_shares(value: Array, holds: Condition, axis: int | None = None) -> Floats | None:
    """Return the activity of each unit.

    Args:
        value: Shape ``[batch, units, ...]`` or, of rank 3, ``[batch, length, units]``.
        holds: The condition, of the values as float64.
        axis: Where the units are, if elsewhere.

    Returns:
        Shape ``[units]``, float64, between 0 and 1; ``None`` where there is nothing to take a
        share of: below rank 2, or empty.
    """
    if value.ndim < 2 or not value.size:
        return None
    units = (2 if value.ndim == 3 else 1) if axis is None else axis
    if not -value.ndim <= units < value.ndim:
        return None
    with np.errstate(invalid="ignore"):
        which = np.moveaxis(holds(value.astype(np.float64)), units, 0)
    return np.asarray(which.reshape(len(which), -1).mean(axis=1), np.float64)


def cannot_fire(share: float, inactivity: float, layer: float) -> bool:
    """Return whether so large a share of all values proves that a layer is well.

    If more than a fraction ``layer`` of the units were active on less than ``inactivity``, the
    share of all values would be below ``1 - layer * (1 - inactivity)``.

    Args:
        share: Of all values of the layer, between 0 and 1.
        inactivity: As a fraction of 1.
        layer: As a fraction of 1.
    """
    return share >= 1 - layer * (1 - inactivity)


def merged(found: Iterable[Shares]) -> Shares:
    """Return the mean over workers of the shares of each tensor.

    Where workers have different units, as shards do, those of the first.
    """
    together: dict[str, list[Floats]] = {}
    for shares in found:
        for name, one in shares.items():
            together.setdefault(name, []).append(one)
    return {
        name: parts[0] if len({len(one) for one in parts}) > 1 else np.mean(parts, axis=0)
        for name, parts in together.items()
    }


class Inactive(NamedTuple):
    """A layer of which too many units hardly do anything; ``percent`` of ``units``."""

    name: str
    percent: float
    units: int


class LayerShares:
    """Finds layers of too many inactive units, over the last steps at which each was seen.

    Args:
        inactivity: A unit is inactive below this activity, in percent.
        layer: A layer is if more than this percentage of its units are.
        window: Over so many steps.
    """

    def __init__(self, inactivity: float, layer: float, window: int = 1) -> None:
        self._limit, self._layer = inactivity / 100, layer
        self._window = window
        self._past: dict[str, deque[Floats]] = {}

    def add(self, shares: Mapping[str, Floats]) -> list[Inactive]:
        """Take in what was seen at a step and return the layers that are inactive now."""
        if self._window > 1:
            pooled = {name: self._pooled(name, one) for name, one in shares.items()}
            shares = {name: one for name, one in pooled.items() if one is not None}
        if not shares:
            return []
        sizes = np.array([len(one) for one in shares.values()])
        inactive = np.concatenate(list(shares.values())) < self._limit
        starts = np.cumsum(sizes) - sizes
        percents = 100.0 * np.add.reduceat(inactive.astype(np.int64), starts) / sizes
        names = list(shares)
        return [
            Inactive(names[one], float(percents[one]), int(sizes[one]))
            for one in np.flatnonzero(percents > self._layer)
        ]

    def _pooled(self, name: str, share: Floats) -> Floats | None:
        past = self._past.setdefault(name, deque(maxlen=self._window))
        if past and len(past[0]) != len(share):
            past.clear()
        past.append(share)
        return np.mean(past, axis=0) if len(past) == self._window else None


class ActivityRule(Rule):
    """A rule on layers of which too many units are hardly active; what that is, each says itself.

    Values that are saved in full are judged, else the summaries of the hook.
    """

    evidence = ("activity:raw:every=10",)
    sign = "inactive"
    #: What the names of summaries begin with.
    prefix: ClassVar[str]
    #: What may be wrong with a tensor, and of what none was measured.
    fault: ClassVar[str]
    measured: ClassVar[str]

    #: What such layers are, in a finding, and what to do.
    layers: ClassVar[str]
    remedy: ClassVar[str]

    collection_names: Sequence[str] = ()
    tensor_regex: Sequence[str]
    threshold_inactivity: float
    threshold_layer: float
    window: int = 1
    channel_axis: int | None = None

    def begin(self) -> None:
        self._full = Selection(
            self.collection_names, self.tensor_regex, keep=lambda _, of: of.collection != "activity"
        )
        self._summaries = Selection((), (f"^{self.prefix}",))
        self._layers = LayerShares(self.threshold_inactivity, self.threshold_layer, self.window)
        self._flat: dict[str, None] = {}
        self._open: dict[str, None] = {}

    def check(self, step: StepView) -> Findings:
        found: dict[str, Shares] = {}
        for worker, name, value in raw_values(step, self._full):
            layer, is_active = self._layer(name, value.dtype.name)
            shares = unit_shares(value, is_active, self.channel_axis)
            if shares is None:
                self._flat[name] = None
            else:
                found.setdefault(worker, {})[layer] = shares
        for worker, name, value in raw_values(step, self._summaries):
            of_worker = found.setdefault(worker, {})
            of_worker.update(self._summarized(name, value, of_worker))
        shares_of = merged(found.values())
        if shares_of:
            self._evaluated = True
        elif not self._evaluated:
            self._screen(step)
        inactive = self._layers.add(shares_of)
        if inactive:
            yield self._finding(step, inactive, len(shares_of))

    def unevaluated(self) -> str | None:
        if self._evaluated:
            return None
        if self._flat:
            return f"{listed(self._flat)}: of one sample without a batch no share can be taken"
        if self._open:
            return (
                f"statistics alone cannot tell whether {listed(self._open)} {self.fault}; save how"
                " active each unit is: --save activity:raw:every=10"
            )
        if self._full.found_any:
            return None  # the screen proved all of them well
        return f"no {self.measured} was measured, and " + (self._full.missing() or "")

    def _layer(self, name: str, dtype: str) -> tuple[str, Condition]:
        """Return what a tensor's layer is called, and when a value of it is active."""
        raise NotImplementedError

    def _summarized(self, name: str, value: Array, known: Shares) -> Shares:
        """Return the activity of the units that a summary is of, unless it is known."""
        raise NotImplementedError

    def _screen(self, step: StepView) -> None:
        """Note which tensors statistics alone cannot prove to be well."""
        raise NotImplementedError

    def _name_of(self, layer: str) -> str:
        """Return the tensor or module that a layer is."""
        return layer

    def _condition(self, layer: str) -> str:
        """Describe what the units of an inactive layer do."""
        raise NotImplementedError

    def _finding(self, step: StepView, inactive: list[Inactive], judged: int) -> Finding:
        worst = max(inactive, key=lambda one: one.percent)
        others = [one.name.removeprefix(self.prefix) for one in inactive if one is not worst]
        also = f"; also {listed(others)}" if others else ""
        return self.finding(
            step,
            self._name_of(worst.name),
            f"{worst.name.removeprefix(self.prefix)}: {number(worst.percent)}% of {worst.units}"
            f" units {self._condition(worst.name)} (> {number(self.threshold_layer)}%) at step"
            f" {step.train_step}; {len(inactive)} of {judged} {self.layers}{also}",
            value=worst.percent,
            threshold=self.threshold_layer,
            condition=worst.name,
            remedy=self.remedy,
            evidence={"units": worst.units, "tensors": [one.name for one in inactive][:20]},
        )


RELU_SUMMARY = "active/"


class DeadRelu(ActivityRule):
    """ReLUs of which most units hardly ever give anything but zero.

    Of outputs that are saved in full, those matching ``tensor_regex`` are judged; else the shares
    of active values that the hook measures of every ReLU.
    """

    name = "dead_relu"
    view = EvidenceView("outputs", "zero_fraction")
    prefix, fault, measured = RELU_SUMMARY, "is dead", "ReLU"
    layers = "ReLUs are dead"
    remedy = "lower the learning rate, make biases less negative, or use LeakyReLU or GELU"
    compat: ClassVar[Mapping[str, object]] = {"tensor_regex": (".*relu_output",)}

    tensor_regex: Sequence[str] = parameter(
        ("(?i)relu_output",), "Outputs of ReLUs that are saved in full; `.*relu_output` in compat."
    )
    threshold_inactivity: float = parameter(
        1.0, "A unit active on less of its values than this is dead. Percent.", between=(0, 100)
    )
    threshold_layer: float = parameter(
        50.0, "A layer with more dead units than this is dead. Percent.", between=(0, 100)
    )
    window: int = parameter(
        1, "Take so many saved steps together; small batches need it.", at_least=1
    )
    channel_axis: int | None = parameter(
        None, "Axis of the units in full values; else the last of three, or the second."
    )

    def _layer(self, name: str, dtype: str) -> tuple[str, Condition]:
        del dtype
        return name, lambda values: values > 0

    def _summarized(self, name: str, value: Array, known: Shares) -> Shares:
        output = f"output/{name.removeprefix(RELU_SUMMARY)}"
        return {name: value.astype(np.float64)} if value.size and output not in known else {}

    def _condition(self, layer: str) -> str:
        del layer
        return f"are active on less than {number(self.threshold_inactivity)}% of their values"

    def _screen(self, step: StepView) -> None:
        """Note which outputs may be dead, by the zeros among all their values."""
        inactivity, layer = self.threshold_inactivity / 100, self.threshold_layer / 100
        for group, names in self._full.groups(step):
            rows = group.record.statistics[group.rows]
            active = np.where(rows[:, MIN] >= 0, 1 - rows[:, ZEROS] / rows[:, COUNT], 0.0)
            for name, share in zip(names, active.tolist(), strict=True):
                if not cannot_fire(share, inactivity, layer):
                    self._open[name] = None


SATURATION_SUMMARY = "inside/"
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
    judged; their names contain ``tanh`` or ``sigmoid``. Else the shares that the hook measures,
    which it does for the default thresholds, and for a ``gradient_floor`` of 1e-2, 1e-4 and 1e-7.
    """

    name = "saturated_activation"
    view = EvidenceView("outputs", "abs_mean", "linear")
    prefix, fault, measured = SATURATION_SUMMARY, "saturates", "tanh or sigmoid"
    layers = "layers are saturated"
    remedy = "normalize the inputs, or make the initialization smaller"

    collection_names: Sequence[str] = parameter(
        (), "Inputs of these collections, where they are saved in full."
    )
    tensor_regex: Sequence[str] = parameter(
        (".*tanh_input|.*sigmoid_input",), "And inputs whose name matches."
    )
    threshold_tanh_min: float = parameter(-9.4999, "Inputs of tanh above this,")
    threshold_tanh_max: float = parameter(
        9.4999, "and below this, are fine.", above="threshold_tanh_min"
    )
    threshold_sigmoid_min: float = parameter(-23.0, "Inputs of sigmoid above this,")
    threshold_sigmoid_max: float = parameter(
        16.99999, "and below this, are fine.", above="threshold_sigmoid_min"
    )
    threshold_inactivity: float = parameter(
        1.0, "A unit with less of its inputs inside is saturated. Percent.", between=(0, 100)
    )
    threshold_layer: float = parameter(
        50.0, "A layer with more saturated units than this is. Percent.", between=(0, 100)
    )
    gradient_floor: float | None = parameter(
        None,
        "End intervals where the derivative is this: 1e-7 is ±8.752 for tanh.",
        above=0,
        at_most=0.2499999,
    )
    dtype_aware: bool = parameter(
        False, "End intervals of full values where the function is 1 in their dtype."
    )

    def begin(self) -> None:
        super().begin()
        self._intervals: dict[str, Interval] = {
            TANH: (self.threshold_tanh_min, self.threshold_tanh_max),
            SIGMOID: (self.threshold_sigmoid_min, self.threshold_sigmoid_max),
        }
        if self.gradient_floor is not None:
            self._intervals = {
                kind: interval(kind, self.gradient_floor) for kind in (TANH, SIGMOID)
            }
        self._row = _summary_row(self._intervals, self.gradient_floor)

    def unevaluated(self) -> str | None:
        if not self._evaluated and self._summaries.found_any and self._row is None:
            return "the hook measures no such interval; it needs full inputs: --save inputs:raw"
        return super().unevaluated()

    def _layer(self, name: str, dtype: str) -> tuple[str, Condition]:
        kind, (low, high) = self._interval_of(name, dtype)
        return f"{name} ({kind})", lambda values: (values > low) & (values < high)

    def _summarized(self, name: str, value: Array, known: Shares) -> Shares:
        del known
        if self._row is None or value.ndim != 2 or not value.size:
            return {}
        module, _, kind = name.removeprefix(SATURATION_SUMMARY).rpartition("/")
        return {f"{module} ({kind})": value[self._row].astype(np.float64)}

    def _name_of(self, layer: str) -> str:
        return layer.partition(" (")[0]

    def _condition(self, layer: str) -> str:
        low, high = self._intervals[layer.removesuffix(")").partition(" (")[2]]
        inside = f"({low:.6g}, {high:.6g})"
        return (
            f"have less than {number(self.threshold_inactivity)}% of their inputs inside {inside}"
        )

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


def _summary_row(intervals: dict[str, Interval], floor: float | None) -> int | None:
    """Return which row of a summary is about these intervals; ``None`` if none is."""
    if floor is not None:
        return _FLOORS.index(floor) if floor in _FLOORS else None
    return _SMDEBUG_ROW if intervals == _SMDEBUG else None
