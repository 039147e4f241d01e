"""Attention whose logits grow without bound, or that sees one key only."""

from __future__ import annotations

import math

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, MAX, MIN, NEGINF
from .checks import number
from .rule import Findings, Rule
from .scalars import First, InARow
from .scope import above, at_least, within
from .step_view import StepView, TensorView


class AttentionInstability(Rule):
    """Attention logits that are too large, or entropies that collapse.

    Both come before divergence: logits that grow (Dehghani et al.: Scaling vision transformers to
    22 billion parameters, 2023; Wortsman et al.: Small-scale proxies for large-scale transformer
    training instabilities, 2023), and entropies near zero (Zhai et al.: Stabilizing transformer
    training by preventing attention entropy collapse, 2023). The entropy is that of the rows of a
    module, relative to the logarithm of how many keys a row sees. Heads that are sharp from the
    start are left alone: it must have fallen by half, too.

    Args:
        max_logit: The largest logit that is tolerated; 100 is where Kimi K2 clips (Kimi Team:
            Kimi K2, 2025).
        min_entropy: The least relative entropy, between 0 and 1.
        consecutive: Looks in a row.
        warmup: Looks of which the median is the entropy at first.
        min_spread: Logits that differ by less make no difference.
        flat_looks: So many looks in a row at which they do not.
    """

    name = "attention_instability"
    needs = ("attention",)
    per_model = True

    def __init__(
        self,
        max_logit: float = 100.0,
        min_entropy: float = 0.05,
        consecutive: int = 3,
        warmup: int = 3,
        min_spread: float = 0.01,
        flat_looks: int = 5,
    ) -> None:
        above("max_logit", max_logit, 0)
        within("min_entropy", min_entropy, 0, 1)
        at_least("consecutive", consecutive, 1)
        at_least("warmup", warmup, 1)
        above("min_spread", min_spread, 0)
        at_least("flat_looks", flat_looks, 1)
        self.min_spread, self.flat_looks = min_spread, flat_looks
        self.max_logit, self.min_entropy = max_logit, min_entropy
        self.consecutive, self.warmup = consecutive, warmup
        self._first = First(warmup)
        self._in_a_row = InARow()
        self._looks = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._looks += 1
        for tensor in step.tensors("attention"):
            if tensor.name.endswith("/logits"):
                yield from self._judge_logits(step, tensor)
                yield from self._judge_entropy(step, tensor)
                yield from self._judge_flatness(step, tensor)

    def unevaluated(self) -> str | None:
        if self._looks >= self.consecutive:
            return None
        return f"attention was seen at {self._looks} TRAIN steps, {self.consecutive} are needed"

    def _judge_flatness(self, step: StepView, logits: TensorView) -> Findings:
        """Judge whether logits differ by so little that all keys are seen alike."""
        seen = logits.statistics
        finite = logits.record.statistics[logits.row]
        spread = float(finite[MAX] - finite[MIN])
        # Queries that begin at zero on purpose have logits of exactly 0.
        met = 0 < spread < self.min_spread and seen.count > 0
        if self._in_a_row.count((logits.worker, logits.name, "flat"), met) >= self.flat_looks:
            yield Finding(
                self.name,
                step.number,
                logits.name,
                f"{logits.name}: all logits lie within {number(spread)} at step {step.number}"
                f" (< {number(self.min_spread)}), {self.flat_looks} looks in a row: attention sees"
                " all keys alike",
                severity="info",
                worker=logits.worker,
                value=spread,
                threshold=self.min_spread,
                condition=f"flat {logits.name}",
                remedy="check the scale of the logits, 1/sqrt(width of a head), and that queries"
                " and keys get gradients",
            )

    def _judge_logits(self, step: StepView, logits: TensorView) -> Findings:
        largest = float(logits.record.statistics[logits.row, MAX])
        met = largest > self.max_logit
        if self._in_a_row.count((logits.worker, logits.name), met) >= self.consecutive:
            yield Finding(
                self.name,
                step.number,
                logits.name,
                f"{logits.name}: a logit of {number(largest)} at step {step.number}"
                f" (> {number(self.max_logit)}), {self.consecutive} looks in a row",
                worker=logits.worker,
                value=largest,
                threshold=self.max_logit,
                remedy="normalize queries and keys, check the scale 1/sqrt(width of a head), or"
                " lower the learning rate",
            )

    def _judge_entropy(self, step: StepView, logits: TensorView) -> Findings:
        module = logits.name.removesuffix("/logits")
        tensor = step.tensor(f"{module}/entropy", logits.worker)
        entropy = math.nan if tensor is None else _relative_entropy(logits, tensor)
        if tensor is None or math.isnan(entropy):
            return
        key = (tensor.worker, tensor.name)
        first = self._first.of(key, entropy)
        met = entropy < min(self.min_entropy, 0.5 * first)
        if self._in_a_row.count(key, met) >= self.consecutive:
            yield Finding(
                self.name,
                step.number,
                tensor.name,
                f"{module}: the entropy of attention is {number(entropy)} of what it could be at"
                f" step {step.number} (< {number(self.min_entropy)}), {self.consecutive} looks in a"
                f" row; at first it was {number(first)}",
                worker=tensor.worker,
                value=entropy,
                threshold=self.min_entropy,
                remedy="normalize queries and keys, check the scale 1/sqrt(width of a head), or"
                " lower the learning rate",
                evidence={"at_first": first},
            )


def _relative_entropy(logits: TensorView, entropy: TensorView) -> float:
    """Return the mean entropy over the logarithm of the mean number of keys; nan if unknown."""
    rows = entropy.statistics.count
    seen = logits.record.statistics[logits.row, [COUNT, NEGINF]]
    keys = float(seen[0] - seen[1]) / rows if rows else 0.0
    return float(np.divide(entropy.statistics.mean, math.log(keys))) if keys > 1 else math.nan
