"""What a scheduler is to do with a training, in one word, with the step and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..model.finding import Finding
from .headline import Headline

Word = Literal["CONTINUE", "RESTART", "ROLL_BACK", "STOP"]
#: Faults that come with a step, before which the weights were good.
_OF_A_STEP = (
    "non_finite_origin",
    "exploding_tensor",
    "loss_spike",
    "grad_norm_spike",
    "replica_divergence",
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with a training.

    Args:
        word: ``CONTINUE``; ``RESTART`` it where it ended, for it ended by no fault of its own;
            ``ROLL_BACK`` to a state from before ``step``; ``STOP``, for it would go wrong again.
        step: The first TRAIN step that went wrong, to load a checkpoint from before it; ``None``
            for the other words.
        reason: Why, in one sentence.
    """

    word: Word
    step: int | None
    reason: str

    def order(self) -> str:
        """Return what to do, without the reason: the word, and the step where it has one."""
        return self.word if self.step is None else f"{self.word} step {self.step}"

    def line(self) -> str:
        """Return it in one line.

        Example:
            >>> Advice("ROLL_BACK", 30, "the loss is nan").line()
            'ROLL_BACK step 30: the loss is nan'
        """
        return f"{self.order()}: {' '.join(self.reason.split())}"


def advise(headline: Headline) -> Advice:
    """Return what to do with a training that stands so.

    Only a finding of severity ``error`` asks for anything. One that came with a step asks to go
    back before it, if there is a step before.
    """
    cause = headline.cause
    if cause is not None and cause.severity == "error":
        step = _train_step(cause)
        if cause.rule.partition("#")[0] in _OF_A_STEP and step:
            return Advice("ROLL_BACK", step, cause.message)
        return Advice("STOP", None, cause.message)
    if headline.outcome == "failed":
        if headline.state == "failed":  # an exception of the script comes again
            return Advice("STOP", None, headline.text)
        return Advice("RESTART", None, headline.text)
    return Advice("CONTINUE", None, headline.line)


def _train_step(finding: Finding) -> int | None:
    return finding.step if finding.mode_step is None else finding.mode_step
