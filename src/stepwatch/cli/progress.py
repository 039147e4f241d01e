"""What ``stepwatch run`` shows while a script trains, and after."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from ..finding import Finding
from ..formats.manifest import End
from ..record import StepRecord
from ..rules.watch import RuleStatus
from ..statistics import quantity
from ..steps import Mode
from ..store import Store
from .status_line import StatusLine
from .verdict import headline, plural

# The line at the bottom of a terminal; lines in a file come less often, and ever less.
_REDRAW_S = 0.25
_FIRST_LINE_S, _LAST_LINE_S = 5.0, 60.0
_MOST_FINDINGS = 10


class Progress:
    """Shows step, rate, loss and findings; a listener of the recorder.

    Args:
        run: Where the run is written.
        quiet: Show findings only.
        stream: Where to show it; standard error by default.
    """

    def __init__(self, run: str, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._run = run
        self._quiet = quiet
        # There is none where the shell closed it.
        self._stream = stream or sys.stderr or io.StringIO()
        self._line = StatusLine(self._stream)
        self._began = self._drawn = time.monotonic()
        self._pause = _FIRST_LINE_S
        self._steps: dict[Mode, int] = {}
        self._losses: dict[Mode, float] = {}
        self._findings = 0

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """The run begins; nothing to show yet."""

    def look(self, record: StepRecord) -> None:
        """Count a step, and show it if the last time is long enough ago."""
        self._steps[record.mode] = record.mode_step + 1
        rows = record.layout.rows_of.get("losses")
        if rows is not None:
            self._losses[record.mode] = float(quantity(record.statistics[rows[-1]], "mean"))
        now = time.monotonic()
        if self._quiet or now - self._drawn < (_REDRAW_S if self._line.enabled else self._pause):
            return
        self._drawn = now
        if self._line.enabled:
            self._line.show(f"stepwatch  {self._state(now)}")
        else:
            self._pause = min(2 * self._pause, _LAST_LINE_S)
            self.say(self._state(now))

    def finish(self) -> None:
        """The last step was seen; nothing to show before the summary."""

    def count(self, finding: Finding) -> None:
        """Count a finding."""
        del finding
        self._findings += 1

    def say(self, line: str) -> None:
        """Show a line that stays, or nothing where nobody reads any more."""
        with suppress(OSError, ValueError):
            self._stream.write(f"stepwatch: {line}\n")
            self._stream.flush()

    def say_more(self, line: str) -> None:
        """Show a line that stays, unless only findings are wanted."""
        if not self._quiet:
            self.say(line)

    def close(self) -> None:
        """Give the terminal back."""
        self._line.close()

    def summary(
        self, end: End, findings: Sequence[Finding], statuses: Sequence[RuleStatus]
    ) -> None:
        """Show what became of the run."""
        if self._quiet:
            return
        seconds = time.monotonic() - self._began
        counted = ", ".join(f"{count} {mode}" for mode, count in self._steps.items())
        if end.steps < sum(self._steps.values()):  # the configuration left some out
            steps = f"saved {end.steps} of {counted} steps"
        else:
            steps = f"{plural(end.steps, 'step')} ({counted or 'none'})"
        self.say(f"{end.state}, {steps} in {seconds:.1f} s")
        if end.lost:
            self.say(f"lost: {end.lost}")
        elif end.failures:
            self.say(f"{plural(end.failures, 'failure')}, and nothing lost by it")
        if end.error and end.state != "stopped":  # else a finding says why
            self.say(f"error: {end.error}")
        self.say(headline(findings, statuses))
        for finding in findings[:_MOST_FINDINGS]:
            self.say(f"  {finding.headline()}")
        if len(findings) > _MOST_FINDINGS:
            self.say(f"  and {len(findings) - _MOST_FINDINGS} more")
        for status in statuses:
            if status.status == "Error":
                self.say(f"  {status.rule} ended by {status.details}")
        self.say(f"look at it with: stepwatch show {self._run}")

    def _state(self, now: float) -> str:
        steps = sum(self._steps.values())
        rate = steps / max(now - self._began, 1e-9)
        losses = "  ".join(
            f"{'' if mode is Mode.TRAIN else f'{mode} '}loss {loss:.4g}"
            for mode, loss in self._losses.items()
        )
        return f"step {steps}  {rate:.1f}/s  {losses}  {plural(self._findings, 'finding')}"
