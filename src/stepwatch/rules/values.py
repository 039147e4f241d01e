"""Rules on tensors that are zero, or scatter too much or too little."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Selection
from ..judge.step_view import StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, TensorInfo
from ..numerics.measures import Floats, listed, non_finite, number, zero_percent
from ..numerics.statistics import COUNT
from .circumstances import WeightHistory
from .shared import TensorRule, in_a_row, out_of_range

Mask = npt.NDArray[np.bool_]
#: Names of what starts at zero by design.
STARTS_AT_ZERO = r"bias|beta|shift|lora_B"


def is_first_output(layout: Layout, tensor: TensorInfo) -> bool:
    """Return whether a tensor is in the first element of all tuples that modules returned.

    What a layer computes is what it returns first; what else it returns, such as a bias of
    positions or the state of a cell, may be zero by design. True for what is no output.
    """
    root, *parts = tensor.name.split("/")
    if root != "output":
        return True
    for index in range(1, len(parts)):
        if parts[index].isdecimal() and int(parts[index]) > 0:
            around = "/".join((root, *parts[:index]))
            # Beside the output of what it lies in, "1" is the name of a layer.
            is_tuple = around not in layout.row_of and any(
                name == f"{around}/0" or name.startswith(f"{around}/0/") for name in layout.row_of
            )
            if is_tuple:
                return False
    return True


def _is_computed(layout: Layout, tensor: TensorInfo) -> bool:
    """Return whether a tensor is what a layer computes: no index, such as an action or a class."""
    is_whole = tensor.dtype.startswith(("int", "uint", "bool"))
    return is_first_output(layout, tensor) and not (is_whole and tensor.name.startswith("output/"))


class AllZero(TensorRule):
    """Tensors of which everything, or too much, is zero.

    Tensors that become zero at the same step are one finding.
    """

    name = "all_zero"
    example = "outputs"
    sign = "inactive"
    view = EvidenceView(statistic="zero_fraction")
    compat: ClassVar[Mapping[str, object]] = {"skip_initial": False, "skip_further": False}

    threshold: float = parameter(
        100.0, "Percentage of zeros that is too much.", above=0, at_most=100
    )
    atol: float = parameter(
        0.0, "A tensor with no element larger than this counts as all zero.", at_least=0
    )
    consecutive: int = parameter(1, "So many steps in a row.", at_least=1)
    skip_initial: bool = parameter(
        True,
        "Leave out, at step 0, biases and others that start at zero, and evaluations before"
        " anything was trained; `false` in compat.",
    )
    skip_further: bool = parameter(
        True,
        "Of what modules return look at the first element of a tuple, and at no whole numbers, such"
        " as actions; `false` in compat.",
    )

    def begin(self) -> None:
        super().begin()
        self._weights = WeightHistory()
        self._trained: StepView | None = None  # the last TRAIN step with weights and gradients
        if self.skip_further:
            self._tensors = Selection(self.collection_names, self.tensor_regex, keep=_is_computed)

    def concerns(self, step: StepView) -> bool:
        return any(True for _ in self._tensors.groups(step))

    def look(self, step: StepView) -> None:
        self._remember(step)
        for group, names in self._tensors.groups(step):
            self.note_each(group.record.worker, names, self._is_zero(step, group)[1])

    def _remember(self, step: StepView) -> None:
        if step.trains:
            self._weights.add(step)
            if {"weights", "gradients"} <= step.records[0].layout.rows_of.keys():
                self._trained = step

    def check(self, step: StepView) -> Findings:
        self._remember(step)
        if self.skip_initial and not (step.trains or step.train_step):
            return  # nothing was trained yet, and last layers may begin at zero
        for group, names in self._tensors.groups(step):
            percent, zero = self._is_zero(step, group)
            worker = group.record.worker
            zero = self.persist_each(worker, names, zero)
            for leader, members in self.onsets(worker, names, zero).items():
                yield self._finding(step, group.where(members), float(percent[members[0]]), leader)

    def _is_zero(self, step: StepView, group: TensorGroup) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the percentage of zeros of each tensor, and for which it is too much."""
        percent = self._percent(group)
        zero = percent >= self.threshold  # false for nan: empty
        if self.skip_initial and step.number == 0:
            zero &= ~group.record.layout.matching(STARTS_AT_ZERO)[group.rows]
        return percent, zero

    def _percent(self, group: TensorGroup) -> Floats:
        percent = zero_percent(group.record.statistics[group.rows])
        if self.atol:
            rows = group.record.statistics[group.rows]
            percent[(group.quantity("abs_max") <= self.atol) & (non_finite(rows) == 0)] = 100.0
        return percent

    def _finding(self, step: StepView, group: TensorGroup, share: float, leader: str) -> Finding:
        count = group[0].statistics.count
        name, *others = group.names
        since = f", {in_a_row(self.consecutive, 'step')}" if self.consecutive > 1 else ""
        more = f"; so {'is' if len(others) == 1 else 'are'} {listed(others)}" if others else ""
        weight = _zero_weight(step, group, name)
        is_frozen = self._trained is not None and _is_frozen_at_zero(self._trained, group, name)
        if is_frozen:
            more += "; its weights are zero and frozen"
        elif weight:
            more += f"; {weight} is zero, too"
        reason = self._weights.reason(group.record.worker)
        if reason is not None:
            more += f"; {reason.sentence}"
        return self.finding(
            step,
            group[0],
            f"{name} is zero, {_share_of(share, self.threshold, count)}, at step"
            f" {step.train_step}{since}{more}",
            value=share,
            threshold=self.threshold,
            severity="info" if is_frozen else "warning",
            condition=leader,
            remedy=reason.remedy
            if reason is not None
            else "the layer is disconnected, dead or initialized with zeros: check its inputs,"
            " activation and initialization, and lower the learning rate",
            evidence={
                "elements": count,
                "tensors": [name, *others][:20],
                **({"why": reason.cause} if reason else {}),
            },
        )


def _share_of(share: float, threshold: float, count: float) -> str:
    """Return how much of a tensor is zero, with the threshold where that is not all of it.

    Example:
        >>> _share_of(100.0, 100.0, 32), _share_of(97.5, 95.0, 200)
        ('all of its 32 elements', '97.5% of its 200 elements (>= 95%)')
    """
    if share == 100 and threshold == 100:
        return f"all of its {count} elements" if count != 1 else "its one element"
    return f"{number(share)}% of its {count} elements (>= {number(threshold)}%)"


def _zero_weight(step: StepView, group: TensorGroup, output: str) -> str:
    """Return the matrix of weights of the module of an output if it is all zero, else ``""``."""
    module = output.removeprefix("output/")
    for weight in (f"{module}/kernel", f"{module}.weight"):
        view = step.tensor(weight, group.record.worker)
        if view is not None and view.info.collection == "weights":
            least, largest = view.statistics.min, view.statistics.max
            return weight if least == largest == 0 else ""
    return ""


def _is_frozen_at_zero(trained: StepView, group: TensorGroup, output: str) -> bool:
    """Return whether the weights of the module of an output are zero on purpose.

    Args:
        trained: A TRAIN step with gradients: those that have none are frozen.
        group: The tensors of a worker, with the output.
        output: Its name.
    """
    weight = _zero_weight(trained, group, output)
    return bool(weight) and trained.tensor(f"gradient/{weight}", group.record.worker) is None


class TensorVariance(TensorRule):
    """Tensors whose variance is above or below a threshold.

    It is the mean squared distance from the mean, over the finite elements. A tensor of one
    element has none.
    """

    name = "tensor_variance"
    sign = "inactive"
    view = EvidenceView(statistic="variance")
    compat: ClassVar[Mapping[str, object]] = {"skip_initial": False}

    max_threshold: float | None = parameter(
        None, "Too much above this; `none` for no limit.", above=0
    )
    min_threshold: float | None = parameter(
        None, "Too little below this. One of both is needed.", at_least=0
    )
    skip_initial: bool = parameter(
        True, "Leave out, at step 0, biases and others that start at zero; `false` in compat."
    )

    def begin(self) -> None:
        super().begin()
        if self.max_threshold is None and self.min_threshold is None:
            raise ConfigError("say what is too much, by max_threshold=10 or min_threshold=1e-5")
        self._most = math.inf if self.max_threshold is None else self.max_threshold
        self._least = 0.0 if self.min_threshold is None else self.min_threshold
        if not self._least < self._most:
            raise ConfigError(
                f"min_threshold ({self._least}) must be below max_threshold ({self._most})"
            )

    def check(self, step: StepView) -> Findings:
        for group, names in self._tensors.groups(step):
            judged = group.record.statistics[group.rows, COUNT] != 1
            if self.skip_initial and step.number == 0:
                judged &= ~group.record.layout.matching(STARTS_AT_ZERO)[group.rows]
            variances = np.where(judged, group.quantity("variance"), np.nan)
            worker = group.record.worker
            outside = out_of_range(self, worker, names, variances, self._least, self._most)
            for side, limit, condition, members in outside:
                first, *others = chosen = [names[one] for one in members]
                variance = float(variances[members[0]])
                also = f"; so is that of {listed(others)}" if others else ""
                yield self.finding(
                    step,
                    first,
                    f"{first}: its variance {number(variance)} is {side} {number(limit)}"
                    f" at step {step.train_step}{also}",
                    worker=worker,
                    value=variance,
                    threshold=limit,
                    condition=condition,
                    remedy="rescale the initialization, or normalize",
                    evidence={"tensors": chosen[:20]},
                )
