"""The rule on tensors whose elements scatter too much or too little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..errors import ConfigError
from ..finding import Finding
from ..statistics import COUNT
from .checks import listed, number
from .onsets import Onsets
from .rule import Findings, Rule
from .scope import Selection, above, at_least
from .step_view import StepView
from .weights import STARTS_AT_ZERO


class TensorVariance(Rule):
    """Tensors whose variance is above or below a threshold.

    It is the mean squared distance from the mean, over the finite elements. A tensor of one
    element has none.

    Args:
        collection_names: Look at the tensors of these collections,
        tensor_regex: and at those in whose name one of these finds itself. One of both is needed.
        max_threshold: Variance that is too large above this; ``None`` for no limit.
        min_threshold: Variance that is too small below this; ``None`` for no limit. One of both
            is needed.
        skip_initial: At step 0, leave out biases and others that start at zero by design.
    """

    name = "tensor_variance"
    compat: ClassVar[Mapping[str, object]] = {"skip_initial": False}

    def __init__(
        self,
        collection_names: Sequence[str] = (),
        tensor_regex: Sequence[str] = (),
        max_threshold: float | None = None,
        min_threshold: float | None = None,
        skip_initial: bool = True,
    ) -> None:
        if not (collection_names or tensor_regex):
            raise ConfigError("say which tensors, by collection_names=weights or tensor_regex=fc")
        if max_threshold is None and min_threshold is None:
            raise ConfigError("say what is too much, by max_threshold=10 or min_threshold=1e-5")
        if max_threshold is not None:
            above("max_threshold", max_threshold, 0)
        if min_threshold is not None:
            at_least("min_threshold", min_threshold, 0)
        if None not in (max_threshold, min_threshold) and not min_threshold < max_threshold:  # type: ignore[operator]
            raise ConfigError(
                f"min_threshold ({min_threshold}) must be below max_threshold ({max_threshold})"
            )
        self.tensor_regex = tuple(tensor_regex)
        self.max_threshold = np.inf if max_threshold is None else max_threshold
        self.min_threshold = 0.0 if min_threshold is None else min_threshold
        self.skip_initial = skip_initial
        self._tensors = Selection(collection_names, tensor_regex)
        self._onsets: dict[tuple[str, str], Onsets] = {}

    def check(self, step: StepView) -> Findings:
        for group, names in self._tensors.groups(step):
            variances = group.quantity("variance")
            judged = group.record.statistics[group.rows, COUNT] != 1
            if self.skip_initial and step.number == 0:
                judged &= ~group.record.layout.matching(STARTS_AT_ZERO)[group.rows]
            worker = group.record.worker
            for side, limit, met in (
                ("above", self.max_threshold, variances > self.max_threshold),  # false for nan
                ("below", self.min_threshold, variances < self.min_threshold),
            ):
                onsets = self._onsets.setdefault((worker, side), Onsets())
                for leader, members in onsets.update(names, met & judged).items():
                    chosen = [names[one] for one in members]
                    variance = float(variances[members[0]])
                    yield self._finding(step, worker, chosen, variance, (side, limit, leader))

    def unevaluated(self) -> str | None:
        return self._tensors.missing()

    def _finding(
        self,
        step: StepView,
        worker: str,
        names: list[str],
        variance: float,
        met: tuple[str, float, str],
    ) -> Finding:
        side, limit, leader = met
        also = f"; so is that of {listed(names[1:])}" if len(names) > 1 else ""
        return Finding(
            self.name,
            step.number,
            names[0],
            f"{names[0]}: its variance {number(variance)} is {side} {number(limit)}"
            f" at step {step.number}{also}",
            worker=worker,
            value=variance,
            threshold=limit,
            condition=f"{leader} {side}",
            remedy="rescale the initialization, or normalize",
            evidence={"tensors": names[:20]},
        )
