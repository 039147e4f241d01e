"""Trackers: what a script may have open, and Stepwatch speaks into.

A tracker is a class, declared as an entry point of ``stepwatch.trackers``. It never imports the
package that it is for: whether a script has a run of it open can be seen from ``sys.modules``.
``forwarder.Forwarder`` calls it on a thread of its own, where it may take its time and may raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ..judge.advice import advise
from ..judge.headline import Headline
from ..model.finding import Finding

__all__ = [
    "Finding",
    "RunSummary",
    "Tracker",
    "finding_detail",
    "finding_text",
    "finding_title",
    "markdown_text",
]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run stands, in a few values that every tracker can show.

    Args:
        verdict: One of ``headline.Outcome``.
        headline: One sentence.
        advice: A word for schedulers, with its step; see ``judge.advice``.
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
        advice = advise(head).order()
        return cls(head.outcome, head.line, advice, cause, head.remedy, findings, run)

    def values(self) -> dict[str, str | int]:
        """Return what is not empty, by name."""
        return {name: value for name, value in asdict(self).items() if value != ""}

    def title(self) -> str:
        """Return the verdict in a few words, for what has room for no more."""
        return f"stepwatch verdict: {self.verdict}, {self.advice}"

    def text(self) -> str:
        """Return it as lines, the most important one first, without what ``title`` says."""
        count = f"{self.findings} finding{'' if self.findings == 1 else 's'}"
        return "\n".join(filter(None, [self.headline, self.remedy, f"{count}, in {self.run}"]))

    def markdown(self) -> str:
        """Return all of it as Markdown, for what shows it as a page."""
        facts = [
            ("verdict", self.verdict),
            ("advice", self.advice),
            ("cause", self.cause and f"`{self.cause}`"),
            ("findings", self.findings),
            ("run", f"`{self.run}`"),
        ]
        listed = [f"- {name}: {value}" for name, value in facts if value != ""]
        head = f"**{markdown_text(self.headline)}**"
        return "\n\n".join(filter(None, [head, markdown_text(self.remedy), "\n".join(listed)]))


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


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is.

    Example:
        >>> print(markdown_text("0.weight_ih is <nan> * 2"))
        0.weight\\_ih is \\<nan\\> \\* 2
    """
    return re.sub(r"([\\`*_<>\[\]#|])", r"\\\1", text)


def finding_title(finding: Finding) -> str:
    """Return the title of an alert about a finding.

    Example:
        >>> finding_title(Finding("loss_spike", 7, "", "9 is far above 1"))
        'stepwatch: Loss spike, step 7'
    """
    return f"stepwatch: {finding.heading()}"


def finding_detail(finding: Finding) -> str:
    """Return what an alert says beneath its title: what was seen, and what to do about it.

    Example:
        >>> finding_detail(Finding("loss_spike", 7, "", "9 is far above 1", remedy="look at it"))
        '9 is far above 1 (loss_spike)\\nlook at it'
    """
    return "\n".join(filter(None, [f"{finding.message} ({finding.rule})", finding.remedy]))


def finding_text(finding: Finding) -> str:
    """Return a finding as text: where and what, and what to do about it.

    Example:
        >>> finding_text(Finding("loss_spike", 7, "", "9 is far above 1", remedy="look at it"))
        'Loss spike, step 7: 9 is far above 1 (loss_spike)\\nlook at it'
    """
    return "\n".join(filter(None, [finding.headline(), finding.remedy]))
