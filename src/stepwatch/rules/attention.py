"""Rules on attention and on output logits that drift."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule
from ..judge.step_view import StepView, TensorView
from ..numerics.measures import number, theil_sen
from ..numerics.statistics import COUNT, MAX, MIN, NEGINF
from .history import FirstValues, Series
from .shared import in_a_row, of_same_loss


class AttentionInstability(Rule):
    """Attention logits that are too large, or entropies that collapse.

    Both come before divergence: logits that grow (Dehghani et al.: Scaling vision transformers to
    22 billion parameters, 2023; Wortsman et al.: Small-scale proxies for large-scale transformer
    training instabilities, 2023), and entropies near zero (Zhai et al.: Stabilizing transformer
    training by preventing attention entropy collapse, 2023). The entropy is that of the rows of a
    module, relative to the logarithm of how many keys a row sees. Heads that are sharp from the
    start are left alone: it must have fallen by half, too.
    """

    name = "attention_instability"
    needs = ("attention",)
    training_only = True
    per_model = True
    sign = "drift"
    view: ClassVar[Mapping[str, EvidenceView]] = {
        "flat*": EvidenceView("attention", "std"),
        "*": EvidenceView("attention", "abs_max"),
    }

    max_logit: float = parameter(
        100.0, "The largest logit that is tolerated; 100 is where Kimi K2 clips.", above=0
    )
    min_entropy: float = parameter(0.05, "The least relative entropy.", between=(0, 1))
    consecutive: int = parameter(3, "Looks in a row.", at_least=1)
    warmup: int = parameter(3, "Looks of which the median is the entropy at first.", at_least=1)
    min_spread: float = parameter(0.01, "Logits that differ by less make no difference.", above=0)
    flat_looks: int = parameter(5, "So many looks in a row at which they do not.", at_least=1)

    def begin(self) -> None:
        self._first = FirstValues(self.warmup)

    def check(self, step: StepView) -> Findings:
        self._steps += 1
        for tensor in step.tensors("attention"):
            if tensor.name.endswith("/logits"):
                yield from self._evaluate_logits(step, tensor)
                yield from self._evaluate_entropy(step, tensor)
                yield from self._evaluate_flatness(step, tensor)

    def unevaluated(self) -> str | None:
        if self._steps >= self.consecutive:
            return None
        return f"attention was seen at {self._steps} TRAIN steps, {self.consecutive} are needed"

    def _evaluate_flatness(self, step: StepView, logits: TensorView) -> Findings:
        """Judge whether logits differ by so little that all keys count alike."""
        row = logits.record.statistics[logits.row]
        spread = float(row[MAX] - row[MIN])
        # Queries that begin at zero on purpose have logits of exactly 0.
        holds = 0 < spread < self.min_spread and row[COUNT] > 0
        if self.persists((logits.worker, logits.name, "flat"), holds, self.flat_looks):
            yield self.finding(
                step,
                logits,
                f"{logits.name}: all logits lie within {number(spread)} at step {step.train_step}"
                f" (< {number(self.min_spread)}), "
                f"{in_a_row(self.flat_looks, 'look')}: attention sees"
                " all keys alike",
                severity="info",
                value=spread,
                threshold=self.min_spread,
                condition=f"flat {logits.name}",
                remedy="check the scale of the logits, 1/sqrt(width of a head), and that queries"
                " and keys get gradients",
            )

    def _evaluate_logits(self, step: StepView, logits: TensorView) -> Findings:
        largest = float(logits.record.statistics[logits.row, MAX])
        holds = largest > self.max_logit
        if self.persists((logits.worker, logits.name), holds):
            yield self.finding(
                step,
                logits,
                f"{logits.name}: a logit of {number(largest)} at step {step.train_step}"
                f" (> {number(self.max_logit)}), {in_a_row(self.consecutive, 'look')}",
                value=largest,
                threshold=self.max_logit,
                remedy="normalize queries and keys, check the scale 1/sqrt(width of a head), or"
                " lower the learning rate",
            )

    def _evaluate_entropy(self, step: StepView, logits: TensorView) -> Findings:
        module = logits.name.removesuffix("/logits")
        tensor = step.tensor(f"{module}/entropy", logits.worker)
        entropy = math.nan if tensor is None else _relative_entropy(logits, tensor)
        if tensor is None or math.isnan(entropy):
            return
        key = (tensor.worker, tensor.name)
        first = self._first.of(key, entropy)
        holds = entropy < min(self.min_entropy, 0.5 * first)
        if self.persists(key, holds):
            yield self.finding(
                step,
                tensor,
                f"{module}: the entropy of attention is {number(entropy)} of what it could be at"
                f" step {step.train_step} (< {number(self.min_entropy)}),"
                f" {in_a_row(self.consecutive, 'look')}; at first it was {number(first)}",
                value=entropy,
                threshold=self.min_entropy,
                remedy="normalize queries and keys, check the scale 1/sqrt(width of a head), or"
                " lower the learning rate",
                evidence={"at_first": first},
            )


def _relative_entropy(logits: TensorView, entropy: TensorView) -> float:
    """Return the mean entropy over the logarithm of the mean number of keys; nan if unknown."""
    rows = entropy.statistics.count
    count, masked = logits.record.statistics[logits.row, [COUNT, NEGINF]].tolist()
    keys = (count - masked) / rows if rows else 0.0
    return float(np.divide(entropy.statistics.mean, math.log(keys))) if keys > 1 else math.nan


#: A slope is that of so many samples; of fewer there is none.
MAX_SAMPLES, MIN_SAMPLES = 100, 20


class OutputLogitDrift(Rule):
    """Logits that all drift away from zero together.

    A number that is added to all logits changes neither softmax nor loss, so nothing holds it
    back until the dtype runs out of precision. PaLM keeps the log-partition near zero with a loss
    of its own, 1e-4 times its square (Chowdhery et al.: PaLM, 2022). A classifier that is sure of
    itself has a large log-partition, too; its logits are on both sides of zero. Reported is a
    log-partition that is far from zero while the mean of the logits is further from it than they
    are spread; and one that will be at the end of the schedule of the learning rate, if it goes on
    as it went.
    """

    name = "output_logit_drift"
    needs = ("log_partition",)
    training_only = True
    sign = "drift"
    lacks = "no logits with their log-partition were seen"

    max_log_partition: float = parameter(
        20.0, "The largest magnitude of the mean log-partition.", above=0
    )
    min_offset: float = parameter(
        3.0, "Standard deviations that the mean of the logits is away from 0.", above=0
    )
    consecutive: int = parameter(3, "Looks in a row.", at_least=1)
    max_at_end: float = parameter(
        50.0, "The largest magnitude that the slope of the last looks may lead to.", above=0
    )

    def begin(self) -> None:
        self._history: Series[tuple[str, str], tuple[int, float]] = Series(MAX_SAMPLES)

    def check(self, step: StepView) -> Findings:
        for tensor in step.tensors("log_partition"):
            logits = of_same_loss(step, tensor, "prediction")
            if logits is None:
                continue
            self._evaluated = True
            partition = tensor.scalar
            row = logits.statistics
            offset = abs(row.mean) / (row.std or math.inf)
            key = tensor.worker, tensor.name
            history = self._history.add(key, (step.mode_step, partition))
            drifted = offset > self.min_offset
            at_end = _at_end(step, tensor.worker, history) if drifted else math.nan
            far = abs(partition) > self.max_log_partition or abs(at_end) > self.max_at_end
            if self.persists(key, drifted and far):
                threshold = self.max_log_partition
                limit = f"magnitude > {number(threshold)}"
                if abs(partition) <= threshold:
                    threshold = self.max_at_end
                    limit = f"{number(at_end)} at the end if it goes on so, > {number(threshold)}"
                yield self.finding(
                    step,
                    tensor,
                    f"{tensor.name}: the mean log-partition is {number(partition)} at step"
                    f" {step.train_step} ({limit}), because all logits drifted: their mean is"
                    f" {number(row.mean)}, {number(offset)} of their standard deviations away"
                    " from 0",
                    value=partition,
                    threshold=threshold,
                    remedy="add the z-loss 1e-4 * logsumexp(logits)**2 to the loss, or take the"
                    " bias out of the last layer",
                    evidence={"mean": row.mean, "offset": offset, "at_end": at_end},
                )


def _at_end(step: StepView, worker: str, history: Sequence[tuple[int, float]]) -> float:
    """Return where the last slope leads to at the end of the schedule; nan if that is unknown."""
    if len(history) < MIN_SAMPLES:
        return math.nan
    left = step.scalar("loop/scheduler_total", worker) - step.scalar("loop/scheduler_steps", worker)
    return history[-1][1] + max(left, 0.0) * theil_sen(*zip(*history, strict=True))
