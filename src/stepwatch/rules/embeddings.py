"""Rules on embeddings that drift, and on experts that a router no longer uses."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, Rule, Selection
from ..judge.step_view import StepView, TensorView
from ..numerics.measures import Floats, listed, number
from .history import FirstValues, Series
from .shared import in_a_row, is_scalar, losses_of, parameter_of

# The indices in a tensor of the collection ``embeddings``.
_MEDIAN, _LARGEST, _COSINE, _UNUSED = 2, 4, 5, 6
# So many rows are sampled of larger tables.
MOST_ROWS = 4096
#: Of a table with fewer rows one may be all that is needed.
LEAST_ROWS = 8
#: Rows of fewer elements are alike whatever they say: of one element the sign is all there is.
LEAST_WIDTH = 4
#: Where the median row stays as it was to this fraction, most rows are never asked for.
STAYS = 1e-3
#: A loss falls if it is below the first ones by this fraction.
FALLS = 0.05


class EmbeddingDrift(Rule):
    """Embeddings whose rows grow out of proportion, or become alike.

    Spikes of the loss may come in by the embedding (Takase et al.: Spike no more, 2023).
    ``growth``: the median length of a row is ``max_growth`` times what it was at first, and an
    element is larger than ``max_rms``, where normalized activations are about 1. ``outlier``: the
    longest row is ``max_ratio`` times the median, which moves, and as much longer than it was at
    first.
    ``alike``: the mean cosine of pairs of rows rose above ``max_cosine`` (Gao et al.:
    Representation degeneration problem in training natural language generation models, 2019); of
    severity info while the loss falls.
    ``one_row``: of a table of ``LEAST_ROWS`` rows or more only one is ever used, so that it
    carries no information.
    """

    name = "embedding_drift"
    needs = ("embeddings",)
    training_only = True
    per_model = True
    sign = "drift"

    max_growth: float = parameter(3.0, "The median length over what it was at first.", above=1)
    max_rms: float = parameter(
        3.0, "Root mean square of the elements of a row of median length.", above=0
    )
    max_ratio: float = parameter(20.0, "The longest row relative to the median.", above=1)
    max_cosine: float = parameter(0.5, "The mean cosine of pairs of rows.", between=(0, 1))
    consecutive: int = parameter(3, "Looks in a row.", at_least=1)
    settled_after: int = parameter(
        100,
        "TRAIN steps until rows that are alike are judged: what all share comes first.",
        at_least=0,
    )

    def begin(self) -> None:
        self._first = FirstValues(1)
        self._num_samples = 0
        self._losses = Selection(("losses",), keep=is_scalar)
        self._first_loss = FirstValues(3)  # of looks: those between full steps hold no rows
        self._falls = False

    def check(self, step: StepView) -> Findings:
        for name, loss in losses_of(step, self._losses).items():
            first = self._first_loss.of(name, loss)
            self._falls = loss < first - FALLS * abs(first)
        for tensor in step.tensors("embeddings"):
            if tensor.name in tensor.record.raw:
                self._num_samples += 1
                yield from self._evaluate(step, tensor)
                yield from self._evaluate_use(step, tensor)

    def unevaluated(self) -> str | None:
        return (
            None
            if self._num_samples >= self.consecutive
            else f"{self._num_samples} looks at embeddings"
        )

    def _evaluate(self, step: StepView, tensor: TensorView) -> Findings:
        for condition, holds, value, limit, text in self._conditions(step, tensor):
            key = tensor.worker, tensor.name, condition
            if self.persists(key, holds):
                yield self.finding(
                    step,
                    tensor,
                    f"{tensor.name.removeprefix('row_norms/')}: {text} (> {number(limit)}),"
                    f" {in_a_row(self.consecutive, 'look')} up to step {step.train_step}",
                    # What all rows have in common may be what they have to say at first.
                    severity="info" if condition == "alike" and self._falls else "warning",
                    value=value,
                    threshold=limit,
                    condition=f"{condition} {tensor.name}",
                    remedy="lower the learning rate of the embedding, normalize its output, or"
                    " check that its ids are what the tokenizer means",
                )

    def _conditions(
        self, step: StepView, tensor: TensorView
    ) -> Iterator[tuple[str, bool, float, float, str]]:
        """Yield condition, whether it is met, what was measured, the limit, and it in words."""
        values = np.asarray(tensor.value(), np.float64)
        median, largest, cosine = (float(values[at]) for at in (_MEDIAN, _LARGEST, _COSINE))
        width = _shape(tensor)[-1]
        rms = median / math.sqrt(width)
        growth = self._relative(tensor, "growth", median)
        yield (
            "growth",
            growth > self.max_growth and rms > self.max_rms,
            growth,
            self.max_growth,
            f"a row of median length has elements of {number(rms)}, and {number(growth)} times its"
            " length at first",
        )
        ratio = largest / median if median else math.nan
        apart = self._relative(tensor, "outlier", ratio)
        yield (
            "outlier",
            ratio > self.max_ratio and apart > self.max_growth and abs(growth - 1) > STAYS,
            ratio,
            self.max_ratio,
            f"the longest row is {number(apart)} times further from the median than at first, and"
            f" as many times as long: {number(ratio)}",
        )
        first = self._first.of((tensor.worker, tensor.name, "alike"), cosine)
        are_alike = cosine > self.max_cosine and cosine > 2 * max(first, 0.0)
        yield (
            "alike",
            are_alike and width >= LEAST_WIDTH and step.train_step >= self.settled_after,
            cosine,
            self.max_cosine,
            f"at first the mean cosine of two rows was {number(first)}, and it is {number(cosine)}",
        )

    def _evaluate_use(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge whether more than one row is asked for."""
        rows = _shape(tensor)[0]
        unused = float(np.asarray(tensor.value(), np.float64)[_UNUSED])
        # No gradient at all is what other rules are about.
        one = rows >= LEAST_ROWS and abs((1 - unused) * min(rows, MOST_ROWS) - 1) < 0.5
        if self.persists((tensor.worker, tensor.name, "one_row"), one, 2 * self.consecutive):
            name = tensor.name.removeprefix("row_norms/")
            yield self.finding(
                step,
                tensor,
                f"{name}: one of {rows} rows is all that gets a gradient, {2 * self.consecutive}"
                f" looks in a row up to step {step.train_step}",
                value=float(rows),
                condition=f"one_row {tensor.name}",
                remedy="see which ids the embedding is given: all are the same",
            )

    def _relative(self, tensor: TensorView, what: str, value: float) -> float:
        """Return a number relative to the first finite one; nan as long as it is the first."""
        first = self._first.of((tensor.worker, tensor.name, what), value)
        return value / first if first else math.nan


def _shape(tensor: TensorView) -> tuple[int, ...]:
    parameter = parameter_of(tensor.record.layout, tensor.name)
    return (1, 1) if parameter is None else parameter.shape


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

    The load is the share of tokens whose first choice an expert is, a mean over some steps and
    over the workers. ``dead``: some experts get less than ``dead_share`` of an even share.
    ``unbalanced``: the busiest is above the mean by more than ``max_violation`` times the mean.
    """

    name = "router_collapse"
    lacks = "no router was seen at {window} looks"
    needs = ("routing",)
    training_only = True
    per_model = True
    sign = "drift"

    dead_share: float = parameter(0.1, "A fraction of the even share.", above=0, at_most=1)
    max_violation: float = parameter(2.0, "The largest violation that is tolerated.", above=0)
    window: int = parameter(5, "Looks of which the mean is judged.", at_least=1)
    consecutive: int = parameter(5, "Means in a row.", at_least=1)

    def begin(self) -> None:
        self._loads: Series[str, Floats] = Series(self.window)

    def check(self, step: StepView) -> Findings:
        routers: dict[str, list[TensorView]] = {}
        for tensor in step.tensors("routing"):
            if tensor.name in tensor.record.raw:
                routers.setdefault(tensor.name, []).append(tensor)
        for name, tensors in routers.items():
            shares = np.mean([np.asarray(each.value(), np.float64) for each in tensors], axis=0)
            loads = self._loads.add(name, shares)
            if len(loads) == self.window and len(shares) > 1:
                self._evaluated = True
                yield from self._evaluate(step, name, np.mean(loads, axis=0))

    def _evaluate(self, step: StepView, name: str, load: Floats) -> Findings:
        even = 1 / len(load)
        dead = np.flatnonzero(load < self.dead_share * even).tolist()
        violation = max_violation(load)
        router = name.removeprefix("routing/")
        condition, value, limit = "dead", float(load.min()), self.dead_share * even
        if self.persists((name, "dead"), bool(dead)):
            text = (
                f"experts {listed(map(str, dead))} of {len(load)} are the first choice of less"
                f" than {number(100 * limit)}% of the tokens"
            )
        elif self.persists((name, "even"), violation > self.max_violation):
            condition, value, limit = "unbalanced", violation, self.max_violation
            text = (
                f"expert {int(load.argmax())} is the first choice of {load.max():.0%} of the"
                f" tokens, {number(violation)} times the mean above it (> {number(limit)})"
            )
        else:
            return
        yield self.finding(
            step,
            name,
            f"{router}: {text} at step {step.train_step}, mean of {self.window} looks,"
            f" {self.consecutive} in a row",
            value=value,
            threshold=limit,
            condition=f"{condition} {name}",
            remedy="add or raise the balancing loss, add noise to the router's logits, or balance"
            " with a bias for each expert",
            evidence={"load": [round(float(share), 4) for share in load]},
        )
