"""The contract of a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from ..finding import Finding
from .step_view import StepView


class NothingToJudge(str):
    """Why a rule reached no judgement, where that is as it should be: nothing is of its kind."""

    __slots__ = ()


class Rule:
    """Looks at steps, one after the other, and yields findings.

    A rule depends on nothing but the steps it was shown, in order: the same steps give the
    same findings, live and in replay. Only what it says at a ``tick`` depends on the clock. It is
    shown a step only if the step holds a tensor of one of the collections it needs.

    A class of your own with ``name``, ``needs`` and ``check`` is a rule, whether it inherits
    from this one or not.

    Example:
        >>> class LargeLoss(Rule):
        ...     name = "large_loss"
        ...     needs = ("losses",)
        ...
        ...     def check(self, step):
        ...         for loss in step.tensors("losses"):
        ...             if loss.statistics.mean > 100:
        ...                 yield Finding(self.name, step.number, loss.name, "the loss is large")
    """

    #: The name under which it is asked for, in snake case.
    name: ClassVar[str]
    #: Collections of which a step must hold at least one tensor; none for every step.
    needs: ClassVar[tuple[str, ...]] = ()

    #: What must be saved for it beyond what is by default, in the words of ``--save``; whoever
    #: captures with this rule at work saves it.
    evidence: tuple[str, ...] = ()

    #: Whether it starts anew when a script trains another model after the first: what it
    #: remembers of one loss says nothing of another.
    per_model: ClassVar[bool] = False

    #: Parameters, its own and those of ``Scope``, with which it behaves as SageMaker's does.
    compat: ClassVar[Mapping[str, object]] = {}

    def check(self, step: StepView) -> Iterable[Finding]:
        """Look at one step and yield what is wrong with it."""
        raise NotImplementedError

    def finish(self) -> Iterable[Finding]:
        """Yield what can only be said once the last step was seen."""
        return ()

    def tick(self, now_ns: int, last_steps: Mapping[str, int]) -> Iterable[Finding]:  # noqa: ARG002
        """Look at the clock, some times a second while the run goes on and never in replay.

        Args:
            now_ns: The time of day, nanoseconds since the Unix epoch.
            last_steps: The last step that each worker wrote, complete or not; empty in the
                training process, which knows nothing of the others.
        """
        return ()

    def unevaluated(self) -> str | None:
        """Return why no judgement was reached although steps were seen, or ``None``.

        A rule that compares steps says here that it never had two to compare. Where the model or
        the training has nothing that the rule is about, the reason is a ``NothingToJudge``.
        """
        return None


Findings = Iterator[Finding]
