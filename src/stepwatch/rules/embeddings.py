"""Embeddings that run away from the size they had, or all into one direction."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..finding import Finding
from .checks import number
from .rule import Findings, Rule
from .scalars import First, InARow
from .scope import above, at_least, within
from .step_view import StepView, TensorView

# The places in a tensor of the collection ``embeddings``.
_MEDIAN, _LARGEST, _COSINE, _UNUSED = 2, 4, 5, 6
# So many rows are sampled of larger tables.
MOST_ROWS = 4096
#: Of a table with fewer rows one may be all that is needed.
LEAST_ROWS = 8


class EmbeddingDrift(Rule):
    """Embeddings whose rows grow out of proportion, or become alike.

    Spikes of the loss may come in by the embedding (Takase et al.: Spike no more, 2023).
    ``growth``: the median length of a row is ``max_growth`` times what it was at first, and an
    element is larger than ``max_rms``, where normalized activations are about 1. ``outlier``: the
    longest row is ``max_ratio`` times the median, and as much longer than it was at first.
    ``alike``: the mean cosine of pairs of rows rose above ``max_cosine`` (Gao et al.:
    Representation degeneration problem in training natural language generation models, 2019).
    ``one_row``: of a table of ``LEAST_ROWS`` rows or more only one is ever asked for, so that it
    tells nothing.

    Args:
        max_growth: Of the median length. Above 1.
        max_rms: Root mean square of the elements of a row of median length.
        max_ratio: The longest row relative to the median. Above 1.
        max_cosine: Between 0 and 1.
        consecutive: Looks in a row.
    """

    name = "embedding_drift"
    needs = ("embeddings",)
    per_model = True

    def __init__(
        self,
        max_growth: float = 3.0,
        max_rms: float = 3.0,
        max_ratio: float = 20.0,
        max_cosine: float = 0.5,
        consecutive: int = 3,
    ) -> None:
        above("max_growth", max_growth, 1)
        above("max_rms", max_rms, 0)
        above("max_ratio", max_ratio, 1)
        within("max_cosine", max_cosine, 0, 1)
        at_least("consecutive", consecutive, 1)
        self.max_growth, self.max_rms = max_growth, max_rms
        self.max_ratio, self.max_cosine = max_ratio, max_cosine
        self.consecutive = consecutive
        self._first = First(1)
        self._in_a_row = InARow()
        self._looks = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for tensor in step.tensors("embeddings"):
            if tensor.name in tensor.record.raw:
                self._looks += 1
                yield from self._judge(step, tensor)
                yield from self._judge_use(step, tensor)

    def unevaluated(self) -> str | None:
        return None if self._looks >= self.consecutive else f"{self._looks} looks at embeddings"

    def _judge(self, step: StepView, tensor: TensorView) -> Findings:
        for condition, met, value, limit, text in self._conditions(tensor):
            key = tensor.worker, tensor.name, condition
            if self._in_a_row.count(key, met) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    tensor.name,
                    f"{tensor.name.removeprefix('row_norms/')}: {text} (> {number(limit)}),"
                    f" {self.consecutive} looks in a row up to step {step.number}",
                    worker=tensor.worker,
                    value=value,
                    threshold=limit,
                    condition=f"{condition} {tensor.name}",
                    remedy="lower the learning rate of the embedding, normalize its output, or"
                    " check that its ids are what the tokenizer means",
                )

    def _conditions(self, tensor: TensorView) -> Iterator[tuple[str, bool, float, float, str]]:
        """Yield condition, whether it is met, what was measured, the limit, and it in words."""
        values = np.asarray(tensor.value(), np.float64)
        median, largest, cosine = (float(values[at]) for at in (_MEDIAN, _LARGEST, _COSINE))
        rms = median / math.sqrt(_shape(tensor)[-1])
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
            ratio > self.max_ratio and apart > self.max_growth,
            ratio,
            self.max_ratio,
            f"the longest row is {number(apart)} times further from the median than at first, and"
            f" as many times as long: {number(ratio)}",
        )
        first = self._first.of((tensor.worker, tensor.name, "alike"), cosine)
        yield (
            "alike",
            cosine > self.max_cosine and cosine > 2 * max(first, 0.0),
            cosine,
            self.max_cosine,
            f"at first the mean cosine of two rows was {number(first)}, and it is {number(cosine)}",
        )

    def _judge_use(self, step: StepView, tensor: TensorView) -> Findings:
        """Judge whether more than one row is asked for."""
        rows = _shape(tensor)[0]
        unused = float(np.asarray(tensor.value(), np.float64)[_UNUSED])
        # No gradient at all is what other rules are about.
        one = rows >= LEAST_ROWS and abs((1 - unused) * min(rows, MOST_ROWS) - 1) < 0.5
        if (
            self._in_a_row.count((tensor.worker, tensor.name, "one_row"), one)
            >= 2 * self.consecutive
        ):
            name = tensor.name.removeprefix("row_norms/")
            yield Finding(
                self.name,
                step.number,
                tensor.name,
                f"{name}: one of {rows} rows is all that gets a gradient, {2 * self.consecutive}"
                f" looks in a row up to step {step.number}",
                worker=tensor.worker,
                value=float(rows),
                condition=f"one_row {tensor.name}",
                remedy="see which ids the embedding is given: all are the same",
            )

    def _relative(self, tensor: TensorView, what: str, value: float) -> float:
        """Return a number relative to the first finite one; nan as long as it is the first."""
        first = self._first.of((tensor.worker, tensor.name, what), value)
        return value / first if first else math.nan


def _shape(tensor: TensorView) -> tuple[int, ...]:
    layout = tensor.record.layout
    row = layout.row_of.get(tensor.name.removeprefix("row_norms/"))
    return layout.tensors[row].shape if row is not None else (1, 1)
