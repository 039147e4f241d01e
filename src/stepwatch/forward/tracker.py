"""Trackers: what a script may have open, and Stepwatch speaks into.

A tracker is a class, declared as an entry point of ``stepwatch.trackers``. It never imports the
package that it is for: whether a script has a run of it open can be seen from ``sys.modules``.
``forwarder.Forwarder`` calls it on a thread of its own, where it may take its time and may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ..judge.advice import advise
from ..judge.headline import Headline
from ..model.finding import Finding

__all__ = ["Finding", "RunSummary", "Tracker", "finding_text"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run stands, in a few values that every tracker can show.

    Args:
        verdict: One of ``headline.Outcome``.
        headline: One sentence.
        advice: A word for schedulers, with its reason; see ``judge.advice``.
        cause: The rule that found first what is most severe; empty for none.
        remedy: What to do about it; empty for nothing.
        findings: How many there are.
        run: Where all of it lies.
    """

    verdict: str
    headline: str
    advice: str
    cause: str
    remedy: str
    findings: int
    run: str

    @classmethod
    def of(cls, head: Headline, findings: int, run: str) -> RunSummary:
        """Return the summary of a headline."""
        cause = "" if head.cause is None else head.cause.rule
        advice = advise(head).line()
        return cls(head.outcome, head.line, advice, cause, head.remedy, findings, run)

    def values(self) -> dict[str, str | int]:
        """Return what is not empty, by name."""
        return {name: value for name, value in asdict(self).items() if value != ""}


class Tracker:
    """What all trackers declare. The handle of an open run is whatever ``open_run`` returns."""

    #: Whether ``--forward auto`` asks it.
    by_default: ClassVar[bool] = True

    def prepare(self) -> None:
        """Called before the script runs."""

    def open_run(self) -> Any:
        """Return what the script has open now, ``None`` for nothing; it takes no time.

        Called again and again, on several threads.
        """
        raise NotImplementedError

    def begin(self, run: Any, url: str) -> None:
        """Note in an open run where Stepwatch writes; called once for each, first."""

    def finding(self, run: Any, finding: Finding, number: int) -> None:
        """Show a finding, the so many-th of the run."""
        raise NotImplementedError

    def scalars(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        """Show a few numbers of a step; nothing may change how the script counts its steps."""

    def summary(self, run: Any, summary: RunSummary) -> None:
        """Show how the run stands; called again where that has changed."""
        raise NotImplementedError

    def before_end(self, run: Any, call: Callable[[], None]) -> Callable[[], None] | None:
        """Have something called before the script ends its run, after which nothing is taken.

        Returns:
            What undoes that; ``None`` where a run that has ended still takes things.
        """
        del run, call
        return None

    def close(self) -> None:
        """Called after all else."""


def finding_text(finding: Finding) -> str:
    """Return a finding as text: where and what, and what to do about it.

    Example:
        >>> finding_text(Finding("loss_spike", 7, "", "9 is far above 1", remedy="look at it"))
        'Loss spike, step 7: 9 is far above 1 (loss_spike)\\nlook at it'
    """
    return "\n".join(filter(None, [finding.headline(), finding.remedy]))
