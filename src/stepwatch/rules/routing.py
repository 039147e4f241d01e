"""Experts that a router no longer asks."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..finding import Finding
from .checks import Floats, listed, number
from .rule import Findings, Rule
from .scalars import InARow
from .scope import above, at_least
from .step_view import StepView, TensorView


def max_violation(load: Floats) -> float:
    """Return how far the busiest expert is above the mean, relative to the mean.

    Args:
        load: Shape ``[experts]``, shares of the tokens or counts.

    Returns:
        From 0 to ``experts - 1`` (MaxVio of Wang et al.: Auxiliary-loss-free load balancing
        strategy for mixture-of-experts, 2024); 0 where nothing was routed.
    """
    mean = float(load.mean())
    return (float(load.max()) - mean) / mean if mean else 0.0


class RouterCollapse(Rule):
    """A mixture of experts in which few experts do the work.

    The load is the share of tokens whose first choice an expert is, a mean over some looks and
    over the workers. ``dead``: some experts are asked less than ``dead_share`` of an even share.
    ``unbalanced``: the busiest is above the mean by more than ``max_violation`` times the mean.

    Args:
        dead_share: A fraction of the even share, between 0 and 1.
        max_violation: The largest violation that is tolerated. Above 0.
        window: Looks of which the mean is judged.
        consecutive: Means in a row.
    """

    name = "router_collapse"
    needs = ("routing",)
    per_model = True

    def __init__(
        self,
        dead_share: float = 0.1,
        max_violation: float = 2.0,
        window: int = 5,
        consecutive: int = 5,
    ) -> None:
        above("dead_share", dead_share, 0, up_to=1)
        above("max_violation", max_violation, 0)
        at_least("window", window, 1)
        at_least("consecutive", consecutive, 1)
        self.dead_share, self.max_violation = dead_share, max_violation
        self.window, self.consecutive = window, consecutive
        self._loads: dict[str, deque[Floats]] = {}
        self._in_a_row = InARow()
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        routers: dict[str, list[TensorView]] = {}
        for tensor in step.tensors("routing"):
            if tensor.name in tensor.record.raw:
                routers.setdefault(tensor.name, []).append(tensor)
        for name, tensors in routers.items():
            shares = np.mean([np.asarray(each.value(), np.float64) for each in tensors], axis=0)
            loads = self._loads.setdefault(name, deque(maxlen=self.window))
            loads.append(shares)
            if len(loads) == self.window and len(shares) > 1:
                self._judged = True
                yield from self._judge(step, name, np.mean(loads, axis=0))

    def unevaluated(self) -> str | None:
        return None if self._judged else f"no router was seen at {self.window} looks"

    def _judge(self, step: StepView, name: str, load: Floats) -> Findings:
        even = 1 / len(load)
        dead = np.flatnonzero(load < self.dead_share * even).tolist()
        violation = max_violation(load)
        router = name.removeprefix("routing/")
        after = f"at step {step.number}, mean of {self.window} looks, {self.consecutive} in a row"
        if self._in_a_row.count((name, "dead"), bool(dead)) >= self.consecutive:
            yield self._finding(
                step,
                name,
                "dead",
                (float(load.min()), self.dead_share * even),
                f"{router}: experts {listed(map(str, dead))} of {len(load)} are the first choice of"
                f" less than {number(100 * self.dead_share * even)}% of the tokens {after}",
                load,
            )
        elif self._in_a_row.count((name, "even"), violation > self.max_violation) >= (
            self.consecutive
        ):
            yield self._finding(
                step,
                name,
                "unbalanced",
                (violation, self.max_violation),
                f"{router}: expert {int(load.argmax())} is the first choice of {load.max():.0%} of"
                f" the tokens, {number(violation)} times the mean above it"
                f" (> {number(self.max_violation)}) {after}",
                load,
            )

    def _finding(
        self,
        step: StepView,
        name: str,
        condition: str,
        numbers: tuple[float, float],
        message: str,
        load: Floats,
    ) -> Finding:
        return Finding(
            self.name,
            step.number,
            name,
            message,
            value=numbers[0],
            threshold=numbers[1],
            condition=f"{condition} {name}",
            remedy="add or raise the balancing loss, add noise to the router's logits, or balance"
            " with a bias for each expert",
            evidence={"load": [round(float(share), 4) for share in load]},
        )
