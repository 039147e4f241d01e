"""Output logits that drift where softmax does not see it."""

from __future__ import annotations

import math

from ..finding import Finding
from .checks import number
from .rule import Findings, Rule
from .scalars import InARow
from .scope import above, at_least
from .step_view import StepView


class OutputLogitDrift(Rule):
    """Logits that all drift away from zero together.

    A number that is added to all logits changes neither softmax nor loss, so nothing holds it
    back until the dtype runs out of precision. PaLM keeps the log-partition near zero with a loss
    of its own, 1e-4 times its square (Chowdhery et al.: PaLM, 2022). A classifier that is sure of
    itself has a large log-partition, too; its logits are on both sides of zero. Reported is a
    log-partition that is far from zero while the mean of the logits is further from it than they
    are spread.

    Args:
        max_log_partition: The largest magnitude of the mean log-partition.
        min_offset: So many standard deviations the mean of the logits is away from zero.
        consecutive: Looks in a row.
    """

    name = "output_logit_drift"
    needs = ("log_partition",)

    def __init__(
        self, max_log_partition: float = 20.0, min_offset: float = 3.0, consecutive: int = 3
    ) -> None:
        above("max_log_partition", max_log_partition, 0)
        above("min_offset", min_offset, 0)
        at_least("consecutive", consecutive, 1)
        self.max_log_partition, self.min_offset = max_log_partition, min_offset
        self.consecutive = consecutive
        self._in_a_row = InARow()
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
            met = abs(partition) > self.max_log_partition and offset > self.min_offset
            if self._in_a_row.count((tensor.worker, tensor.name), met) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    tensor.name,
                    f"{tensor.name}: the mean log-partition is {number(partition)} at step"
                    f" {step.number} (magnitude > {number(self.max_log_partition)}), because all"
                    f" logits drifted: their mean is {number(row.mean)}, {number(offset)} of their"
                    " standard deviations away from 0",
                    worker=tensor.worker,
                    value=partition,
                    threshold=self.max_log_partition,
                    remedy="add the z-loss 1e-4 * logsumexp(logits)**2 to the loss, or take the"
                    " bias out of the last layer",
                    evidence={"mean": row.mean, "offset": offset},
                )

    def unevaluated(self) -> str | None:
        return None if self._judged else "no logits with their log-partition were seen"
