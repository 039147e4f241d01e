"""Rules on tensors that do nothing: all zero, or never trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..finding import Finding
from ..statistics import COUNT
from .checks import listed, number, zero_percent
from .onsets import Onsets
from .rule import Findings, Rule
from .scope import Selection, Streaks, above, at_least
from .step_view import StepView, TensorGroup
from .untrained import CAUSES, Training

#: Names of what starts at zero by design.
STARTS_AT_ZERO = r"bias|beta|shift|lora_B"


class AllZero(Rule):
    """Tensors of which everything, or too much, is zero.

    Tensors that become zero at the same step are one finding.

    Args:
        collection_names: Look at the tensors of these collections,
        tensor_regex: and at those in whose name one of these finds itself. One of both is needed.
        threshold: Percentage of zeros among the finite elements that is too much.
        atol: Take a tensor of which no element is larger than this as all zero.
        consecutive: So many steps in a row.
        skip_initial: At step 0, leave out biases and others that start at zero by design.
    """

    name = "all_zero"
    compat: ClassVar[Mapping[str, object]] = {"skip_initial": False}

    def __init__(
        self,
        collection_names: Sequence[str] = (),
        tensor_regex: Sequence[str] = (),
        threshold: float = 100.0,
        atol: float = 0.0,
        consecutive: int = 1,
        skip_initial: bool = True,
    ) -> None:
        if not (collection_names or tensor_regex):
            raise ConfigError("say which tensors, by collection_names=outputs or tensor_regex=fc")
        above("threshold", threshold, 0, up_to=100)
        at_least("atol", atol, 0)
        at_least("consecutive", consecutive, 1)
        self.tensor_regex = tuple(tensor_regex)
        self.threshold = threshold
        self.atol = atol
        self.consecutive = consecutive
        self.skip_initial = skip_initial
        self._tensors = Selection(collection_names, tensor_regex)
        self._streaks: dict[str, Streaks] = {}
        self._onsets: dict[str, Onsets] = {}

    def check(self, step: StepView) -> Findings:
        for group, names in self._tensors.groups(step):
            percent = self._percent(group)
            zero = percent >= self.threshold  # false for nan: empty, or nothing of it is finite
            if self.skip_initial and step.number == 0:
                zero &= ~group.record.layout.matching(STARTS_AT_ZERO)[group.rows]
            worker = group.record.worker
            if self.consecutive > 1:
                streaks = self._streaks.setdefault(worker, Streaks())
                zero = streaks.update(names, zero) >= self.consecutive
            onsets = self._onsets.setdefault(worker, Onsets())
            for leader, members in onsets.update(names, zero).items():
                yield self._finding(step, group, percent, members, names[members[0]], leader)

    def unevaluated(self) -> str | None:
        return self._tensors.missing()

    def _percent(self, group: TensorGroup) -> npt.NDArray[np.float64]:
        percent = zero_percent(group.record.statistics[group.rows])
        if self.atol:
            percent[group.quantity("abs_max") <= self.atol] = 100.0
        return percent

    def _finding(
        self,
        step: StepView,
        group: TensorGroup,
        percent: npt.NDArray[np.float64],
        members: list[int],
        name: str,
        leader: str,
    ) -> Finding:
        share = float(percent[members[0]])
        count = int(group.record.statistics[group.rows[members[0]], COUNT])
        others = [group[index].name for index in members[1:]]
        since = f" for {self.consecutive} steps in a row" if self.consecutive > 1 else ""
        more = f"; so are {listed(others)}" if others else ""
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: {number(share)}% of its {count} elements are zero"
            f" (>= {number(self.threshold)}%) at step {step.number}{since}{more}",
            worker=group.record.worker,
            value=share,
            threshold=self.threshold,
            condition=leader,
            remedy="the layer is disconnected, dead or initialized with zeros: check its inputs,"
            " activation and initialization, and lower the learning rate",
            evidence={"elements": count, "tensors": [name, *others][:20]},
        )


class UntrainedParameter(Rule):
    """Parameters that training leaves as they are, or trains wrongly, from the first step on.

    What is found, each after ``k`` TRAIN steps: parameters that never got a gradient; that no
    optimizer holds; that several groups hold; that an optimizer holds but no model has; that get
    gradients and never change; and gradients that are not set to zero between steps. Parameters
    that are frozen are left out of this. They are found if an optimizer holds them and they were
    trained at first (``frozen_again``), or are one of several blocks that are built the same way,
    one before it trains, and so does what comes after it (``frozen_inside``).

    Args:
        k: So many TRAIN steps.
    """

    name = "untrained_parameter"
    needs = ("weights", "gradients", "optimizer")

    def __init__(self, k: int = 10) -> None:
        at_least("k", k, 1)
        self.k = k
        self._weights = Selection(("weights",))
        self._training: dict[str, Training] = {}
        self._stale: dict[str, int] = {}
        self._rates: dict[tuple[str, str], float] = {}
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._steps += 1
        warming_up = self._warming_up(step)
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            training = self._training.setdefault(worker, Training(self.k))
            skipped = is_skipped(step, worker) or worker in warming_up
            for cause, members in training.add(group, names, skipped=skipped):
                yield self._finding(step, worker, cause, members, len(names))
        yield from self._zero_grad(step)

    def _warming_up(self, step: StepView) -> set[str]:
        """Return the workers of which a rate rose: it may have been too small to change all yet."""
        rates = {(one.worker, one.name): one.scalar for one in step.tensors("learning_rates")}
        before, self._rates = self._rates, rates
        return {key[0] for key, rate in rates.items() if rate > before.get(key, rate)}

    def unevaluated(self) -> str | None:
        if not self._training and not self._stale:
            return "no parameter was seen at a TRAIN step"
        if self._steps >= self.k:
            return None
        return f"{self._steps} TRAIN steps were seen, {self.k} are needed"

    def _zero_grad(self, step: StepView) -> Findings:
        for worker in step.workers:
            tensor = step.tensor("optimizer/stale_gradients", worker)
            if tensor is None:
                continue
            stale = tensor.scalar
            streak = self._stale[worker] = self._stale.get(worker, 0) + 1 if stale > 0 else 0
            if streak >= self.k:
                yield Finding(
                    self.name,
                    step.number,
                    tensor.name,
                    f"the gradients of {number(stale)} parameters were not set to zero between"
                    f" optimizer steps, for {self.k} steps in a row up to step {step.number}: each"
                    " step adds to all gradients before it",
                    worker=worker,
                    value=stale,
                    threshold=0.0,
                    condition="zero_grad",
                    remedy="call zero_grad() once for each optimizer step",
                )

    def _finding(
        self, step: StepView, worker: str, cause: str, members: list[str], total: int
    ) -> Finding:
        what, remedy = CAUSES[cause]
        verb = "parameter" if len(members) == 1 else "parameters"
        return Finding(
            self.name,
            step.number,
            members[0],
            f"{listed(members)}: {len(members)} of {total} {verb} {what.format(k=self.k)},"
            f" up to step {step.number}",
            worker=worker,
            value=float(len(members)),
            threshold=0.0,
            condition=cause,
            remedy=remedy,
            evidence={"cause": cause, "parameters": members[:20]},
        )


def is_skipped(step: StepView, worker: str) -> bool:
    """Return whether a gradient scaler skipped the update of a step."""
    return step.scalar("optimizer/skipped", worker) > 0
