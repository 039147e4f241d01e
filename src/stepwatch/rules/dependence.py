"""Predictions that depend on what they must not, or not on what they should."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import TensorUnavailable
from ..finding import Finding
from .checks import number
from .rule import Findings, NothingToJudge, Rule
from .scalars import InARow
from .scope import above, at_least
from .step_view import StepView, TensorView

#: Targets of which so many are the input at another position are that input.
NEARLY_ALL = 0.95
#: Samples of which this share of a prediction comes are no by-work of a normalization.
MOST = 0.5
_SIZE = 13
_DERIVATIVES = ("derivatives:statistics:steps=5+20+100+500+2000+10000",)


@dataclass(frozen=True, slots=True)
class Look:
    """What derivatives of one prediction told; nan for what they did not.

    Args:
        others: Share of the squared derivatives that belongs to other samples.
        order: 1 where rows lie sample by sample, 0 where they lie time by time.
        future: Share that belongs to later positions of the sample.
        gap: How many positions back the nearest earlier position lies that counts.
        same_0: Share of targets that are the input at their position,
        same_1: one position later,
        same_2: two positions later,
        turned: and one later where the targets lie time by time.
        correlation: The largest of a column of the input with the target, in magnitude.
        column: Which one.
        together: Of how many samples batch normalization takes the statistics.
        compared: With how many targets a loss that is written out compares each prediction.
        as_time: 1 where a recurrent layer takes samples for steps of time.
    """

    others: float
    order: float
    future: float
    gap: float
    same_0: float
    same_1: float
    same_2: float
    turned: float
    correlation: float
    column: float
    together: float
    compared: float
    as_time: float


def looks(step: StepView) -> Iterator[tuple[TensorView, Look]]:
    """Yield what the step tells of each loss whose prediction was looked back from."""
    for tensor in step.tensors("dependence"):
        try:
            value = np.asarray(tensor.value(), np.float64).ravel()
        except TensorUnavailable:
            continue
        if value.size == _SIZE:
            yield tensor, Look(*np.where(value < 0, np.nan, value).tolist())


_REMEDIES = {
    "future": "mask attention: a position may see those before it and itself, is_causal=True; see"
    " over which axis softmax is taken, and that no axes are mixed by view or reshape",
    "samples": "look for a recurrent layer or attention that needs batch_first=True, and for a"
    " softmax, mean, view or reshape over the axis of the batch; if the statistics of the batch are"
    " meant, as in a normalization, this is as it should be",
    "blind": "see which keys the mask hides, and that no axes are mixed by view or reshape",
    "order": "flatten predictions and targets in the same order of axes",
    "as_time": "give the recurrent layer batch_first=True, or inputs with time on the first axis",
    "ahead": "shift the targets by one position, once: in the data or in the loss",
}


class Dependence(Rule):
    """Predictions that depend on what they must not, or not on what they should.

    Derivatives of one row of a prediction, by what its batch became in the first layer, are
    exact about what it can see. ``future``: a model whose targets are the next tokens sees later
    ones. ``blind``: it sees tokens further back and not those right before. ``samples``: the
    prediction of a sample depends on other samples; ``as_time``, because a recurrent layer takes
    them for steps of time, which its sizes tell. And the targets themselves tell: ``order``,
    they are the next tokens, in another order than the predictions; ``ahead``, they are the next
    but one.

    Args:
        min_share: Of the squared derivatives; less is let be. Above 0.
        consecutive: Looks in a row.
        derivatives: Let them be taken; without them ``ahead`` and ``as_time`` are judged. It costs
            less than one more backward pass at each of six steps.
    """

    name = "dependence"
    needs = ("dependence",)

    def __init__(
        self, min_share: float = 1e-6, consecutive: int = 2, derivatives: bool = True
    ) -> None:
        above("min_share", min_share, 0, up_to=1)
        at_least("consecutive", consecutive, 1)
        self.min_share, self.consecutive = min_share, consecutive
        self.derivatives = derivatives
        self._in_a_row = InARow()
        self._judged = False

    @property
    def evidence(self) -> tuple[str, ...]:  # type: ignore[override]  # that of other rules is fixed
        """What must be saved for it, in the words of ``--save``."""
        return _DERIVATIVES if self.derivatives else ()

    def check(self, step: StepView) -> Findings:
        seen = list(looks(step)) if step.trains else []
        one_ahead = any(look.same_1 >= NEARLY_ALL for _, look in seen)
        for tensor, look in seen:
            self._judged = True
            for condition, (met, value, what) in self._conditions(look, one_ahead).items():
                key = tensor.worker, tensor.name, condition
                if self._in_a_row.count(key, met) >= self.consecutive:
                    yield self._finding(step, tensor, condition, value, what)

    def unevaluated(self) -> str | None:
        return None if self._judged else NothingToJudge("no prediction was looked back from")

    def _conditions(self, look: Look, one_ahead: bool) -> dict[str, tuple[bool, float, str]]:
        """Return, for each condition, whether it is met, by which value, and what to say of it."""
        is_next = look.same_1 >= NEARLY_ALL
        turned = look.turned >= NEARLY_ALL > 2 * look.same_1 and look.order == 1
        turned |= is_next and 2 * look.turned < NEARLY_ALL and look.order == 0
        return {
            "future": (
                is_next and look.future > self.min_share,
                look.future,
                f"depends on later tokens, by {number(look.future)} of its squared derivatives,"
                " and its targets are the next tokens",
            ),
            "blind": (
                look.gap > 1,
                look.gap,
                f"depends on tokens {number(look.gap)} positions back and on none nearer but its"
                " own",
            ),
            "samples": (
                look.others > self.min_share and look.as_time != 1,
                look.others,
                f"depends on other samples of the batch, by {number(look.others)} of its squared"
                " derivatives",
            ),
            "as_time": (
                look.as_time == 1,
                look.as_time,
                "comes from a recurrent layer that takes the samples of a batch for steps of time",
            ),
            "order": (
                turned,
                look.turned,
                "lies in another order than the targets: each is compared with the next token of"
                " another place",
            ),
            "ahead": (
                look.same_2 >= NEARLY_ALL and not one_ahead,
                look.same_2,
                "is compared with the next token but one",
            ),
        }

    def _finding(
        self, step: StepView, tensor: TensorView, condition: str, value: float, what: str
    ) -> Finding:
        severity = "info" if condition == "samples" and value < MOST else "warning"
        loss = tensor.name.partition("/")[2]
        return Finding(
            self.name,
            step.number,
            tensor.name,
            f"the prediction of {loss} {what}, {self.consecutive} looks in a row up to step"
            f" {step.number}",
            severity=severity,
            worker=tensor.worker,
            value=value,
            condition=condition,
            remedy=_REMEDIES[condition],
        )
