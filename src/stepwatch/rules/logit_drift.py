"""Output logits that drift where softmax does not see it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from ..finding import Finding
from .checks import number, theil_sen
from .rule import Findings, Rule
from .scalars import InARow
from .scope import above, at_least
from .step_view import StepView, TensorView

#: A slope is that of so many looks, of fewer there is none.
LOOKS, LEAST_LOOKS = 100, 20


class OutputLogitDrift(Rule):
    """Logits that all drift away from zero together.

    A number that is added to all logits changes neither softmax nor loss, so nothing holds it
    back until the dtype runs out of precision. PaLM keeps the log-partition near zero with a loss
    of its own, 1e-4 times its square (Chowdhery et al.: PaLM, 2022). A classifier that is sure of
    itself has a large log-partition, too; its logits are on both sides of zero. Reported is a
    log-partition that is far from zero while the mean of the logits is further from it than they
    are spread; and one that will be at the end of the schedule of the learning rate, if it goes on
    as it went.

    Args:
        max_log_partition: The largest magnitude of the mean log-partition.
        min_offset: So many standard deviations the mean of the logits is away from zero.
        consecutive: Looks in a row.
        max_at_end: The largest magnitude that the slope of the last looks may lead to.
    """

    name = "output_logit_drift"
    needs = ("log_partition",)

    def __init__(
        self,
        max_log_partition: float = 20.0,
        min_offset: float = 3.0,
        consecutive: int = 3,
        max_at_end: float = 50.0,
    ) -> None:
        above("max_log_partition", max_log_partition, 0)
        above("min_offset", min_offset, 0)
        at_least("consecutive", consecutive, 1)
        self.max_log_partition, self.min_offset = max_log_partition, min_offset
        above("max_at_end", max_at_end, 0)
        self.consecutive, self.max_at_end = consecutive, max_at_end
        self._in_a_row = InARow()
        self._looks: dict[tuple[str, str], deque[tuple[int, float]]] = {}
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for tensor in step.tensors("log_partition"):
            logits = step.tensor(f"prediction{tensor.name[len('log_partition') :]}", tensor.worker)
            if logits is None:
                continue
            self._judged = True
            partition = tensor.scalar
            row = logits.statistics
            offset = abs(row.mean) / (row.std or math.inf)
            key = tensor.worker, tensor.name
            looks = self._looks.setdefault(key, deque(maxlen=LOOKS))
            looks.append((step.mode_step, partition))
            drifted = offset > self.min_offset
            at_end = _at_end(step, tensor.worker, looks) if drifted else math.nan
            far = abs(partition) > self.max_log_partition or abs(at_end) > self.max_at_end
            if self._in_a_row.count(key, drifted and far) >= self.consecutive:
                yield self._finding(step, tensor, at_end, offset, row.mean)

    def unevaluated(self) -> str | None:
        return None if self._judged else "no logits with their log-partition were seen"

    def _finding(
        self, step: StepView, tensor: TensorView, at_end: float, offset: float, mean: float
    ) -> Finding:
        partition, threshold = tensor.scalar, self.max_log_partition
        limit = f"magnitude > {number(threshold)}"
        if abs(partition) <= threshold:
            threshold = self.max_at_end
            limit = f"{number(at_end)} at the end if it goes on so, > {number(threshold)}"
        return Finding(
            self.name,
            step.number,
            tensor.name,
            f"{tensor.name}: the mean log-partition is {number(partition)} at step {step.number}"
            f" ({limit}), because all logits drifted: their mean is {number(mean)},"
            f" {number(offset)} of their standard deviations away from 0",
            worker=tensor.worker,
            value=partition,
            threshold=threshold,
            remedy="add the z-loss 1e-4 * logsumexp(logits)**2 to the loss, or take the bias out"
            " of the last layer",
            evidence={"mean": mean, "offset": offset, "at_end": at_end},
        )


def _at_end(step: StepView, worker: str, looks: Sequence[tuple[int, float]]) -> float:
    """Return where the slope of the last looks leads to at the end of the schedule; or nan."""
    if len(looks) < LEAST_LOOKS:
        return math.nan
    left = step.scalar("loop/scheduler_total", worker) - step.scalar("loop/scheduler_steps", worker)
    return looks[-1][1] + max(left, 0.0) * theil_sen(*zip(*looks, strict=True))
