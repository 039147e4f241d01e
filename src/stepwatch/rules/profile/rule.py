"""The contract of a rule that judges a profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from ...finding import Finding
from ..rule import Findings, NothingToJudge, Rule
from ..scope import above
from ..step_view import StepView
from .window import ProfileWindow

#: How long a window is, unless a rule asks for shorter ones.
SCAN_INTERVAL_US = 60_000_000


class ProfileRule(Rule):
    """Looks at a profile, one window of time after the other, and at no step.

    As with steps, the same windows give the same findings, live and in replay. What it has seen
    is kept in ``add``; it is judged at the end of each interval, in ``judge``. Of a finding,
    ``step`` is the last one that had begun by then.

    Args:
        scan_interval_us: Microseconds from one judgement to the next.
    """

    #: What the profile must hold, for the reason why nothing was judged.
    evidence_words: ClassVar[str] = "readings"

    def __init__(self, scan_interval_us: int = SCAN_INTERVAL_US) -> None:
        above("scan_interval_us", scan_interval_us, 0)
        self.scan_interval_us = scan_interval_us
        self._judged_ns: int | None = None
        #: How often a condition was met, at any judgement.
        self.violations = 0

    def check(self, step: StepView) -> Iterable[Finding]:  # noqa: ARG002
        return ()

    def scan(self, window: ProfileWindow) -> Findings:
        """Look at one window and yield what is wrong."""
        self.add(window)
        if self._judged_ns is None:
            self._judged_ns = window.start_ns
        if window.is_last or window.end_ns - self._judged_ns >= 1000 * self.scan_interval_us:
            self._judged_ns = window.end_ns
            for finding in self.judge(window):
                self.violations += 1
                told = {"datapoints": self.datapoints, "time_ns": window.end_ns}
                yield replace(finding, evidence={**finding.evidence, **told})

    def add(self, window: ProfileWindow) -> None:
        """Take in what a window tells."""
        raise NotImplementedError

    def judge(self, window: ProfileWindow) -> Iterable[Finding]:
        """Judge all that was taken in, of which ``window`` is the last."""
        raise NotImplementedError

    @property
    def datapoints(self) -> int:
        """How many readings, steps or whatever else it judges were seen."""
        raise NotImplementedError

    def details(self) -> Mapping[str, object]:
        """Return the numbers behind the judgement, of JSON's types."""
        return {}

    def summary(self) -> str:
        """Return the numbers in words, for a rule that finds nothing; may be empty."""
        return ""

    def unevaluated(self) -> str | None:
        if not self.datapoints:
            return f"no {self.evidence_words} in the profile"
        return None


class GpuRule(ProfileRule):
    """A rule that has nothing to judge where no machine has a GPU."""

    evidence_words = "readings of GPUs"

    def unevaluated(self) -> str | None:
        return NothingToJudge("no GPU in the profile") if not self.datapoints else None


def too_few(seen: int, patience: int, what: str = "readings") -> str | None:
    """Return why no judgement was reached, ``None`` if there were more than ``patience``."""
    return None if seen > patience else f"{seen} {what} were seen, more than {patience} are needed"
