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
from ..formats.workers import are_several
from ..record import StepRecord
from ..rules.chain import chains
from ..rules.places import Places
from ..rules.verdict import followed, headline, plural
from ..rules.watch import RuleStatus
from ..statistics import quantity
from ..steps import Mode
from ..store import Store
from .status_line import StatusLine
from .told import Told

# The line at the bottom of a terminal; lines in a file come less often, and ever less.
_REDRAW_S = 0.25
_FIRST_LINE_S, _LAST_LINE_S = 5.0, 60.0
_MOST_CHAINS = 10


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
        self._places = Places()
        self._told = Told(self._places)
        self._who = "stepwatch"
        self._are_several = self._in_parts = False

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """The run begins; where workers share a terminal, each line says from whom it is."""
        del patterns
        self._are_several = are_several(store)
        if self._are_several:
            self._who = f"stepwatch {worker}"

    def look(self, record: StepRecord) -> None:
        """Count a step, and show it if the last time is long enough ago."""
        self._in_parts |= record.layout.has_parts
        self._places.add(record.layout)
        self._steps[record.mode] = record.mode_step + 1
        rows = record.layout.rows_of.get("losses")
        if rows is not None:
            self._losses[record.mode] = float(quantity(record.statistics[rows[-1]], "mean"))
        now = time.monotonic()
        if self._quiet or now - self._drawn < (_REDRAW_S if self._line.enabled else self._pause):
            return
        self._drawn = now
        if self._line.enabled:
            self._line.show(f"{self._who}  {self._state(now)}")
        else:
            self._pause = min(2 * self._pause, _LAST_LINE_S)
            self.say(self._state(now))

    def finish(self) -> None:
        """The last step was seen; nothing to show before the summary."""

    def count(self, finding: Finding) -> None:
        """Count a finding."""
        self._findings += 1
        self._told.add(finding)

    def hides(self, finding: Finding) -> bool:
        """Return whether a finding only follows from what was shown, and is but counted."""
        return self._told.hides(finding)

    def say(self, line: str) -> None:
        """Show a line that stays, or nothing where nobody reads any more."""
        with suppress(OSError, ValueError):
            self._stream.write(f"{self._who}: {line}\n")
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
            if self._told.num_hidden:
                hidden = plural(self._told.num_hidden, "more finding")
                self.say(f"{hidden} may follow from these; see: stepwatch show {self._run}")
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
        found = chains(findings, self._places)
        for chain in found[:_MOST_CHAINS]:
            self.say(f"  {chain.cause.headline()}")
            for line in followed(chain):
                self.say(f"    {line}")
        if len(found) > _MOST_CHAINS:
            self.say(f"  and {plural(len(found) - _MOST_CHAINS, 'more cause')}")
        for status in statuses:
            if status.status == "Error":
                self.say(f"  {status.rule} ended by {status.details}")
        self.say(f"look at it with: stepwatch show {self._run}")
        if self._are_several:
            but = " but no sharded tensor" if self._in_parts else ""
            whole = f"judge the whole with: stepwatch check {self._run}"
            self.say(f"each worker judged what it saw{but}; {whole}")

    def _state(self, now: float) -> str:
        steps = sum(self._steps.values())
        rate = steps / max(now - self._began, 1e-9)
        losses = "  ".join(
            f"{'' if mode is Mode.TRAIN else f'{mode} '}loss {loss:.4g}"
            for mode, loss in self._losses.items()
        )
        hidden = self._told.num_hidden
        follow = f" ({hidden} may follow from others)" if hidden else ""
        found = f"{plural(self._findings, 'finding')}{follow}"
        return f"step {steps}  {rate:.1f}/s  {losses}  {found}"
