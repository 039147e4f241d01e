"""What ``stepwatch run`` shows while a script trains, and after.

The state is a line at the bottom of the terminal, which scrolls only above it (DECSTBM): whatever
a script prints, progress bars included, looks as it would without it. Findings that only follow
from others are counted, not shown.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from ..capture.lifecycle import DELETED
from ..config import environment
from ..errors import StepwatchError
from ..formats.manifest import FIRST_WORKER, End, are_several
from ..judge.engine import RuleStatus
from ..judge.headline import Headline, RunState, counts, explained, headline
from ..judge.root_cause import Chain, StepOrder, chains
from ..judge.verdict import episodes, plural
from ..model.finding import SEVERITIES, Finding
from ..model.record import StepRecord
from ..model.steps import Mode
from ..numerics.statistics import has_kernel, quantity
from ..runtime.terminal import hanging, visible
from ..store import Store
from ..trial import Trial

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[2K"


class UnbufferedStderr(io.TextIOWrapper):
    """Standard error, without the buffer that the script has of it.

    What cannot be written, because the reader of a pipe went away, stays in a buffer, and with
    something in that of ``sys.stderr`` Python ends with status 120. None of ours may be in it.

    Args:
        stream: Standard error as the script has it; a file of the system.
    """

    def __init__(self, stream: TextIO) -> None:
        raw: Any = io.FileIO(stream.fileno(), "w", closefd=False)
        super().__init__(raw, stream.encoding, "backslashreplace", write_through=True)
        self._stream = stream

    def write(self, text: str) -> int:
        """Write at once, and not where the script closed the stream: the file may be another."""
        if self._stream.closed:
            raise ValueError("standard error is closed")
        return super().write(text)


def _stderr() -> TextIO:
    if sys.stderr is None:  # the shell closed it
        return io.StringIO()
    try:
        return UnbufferedStderr(sys.stderr)
    except (OSError, ValueError):  # a program put something of its own there
        return sys.stderr


class StatusLine:
    """The bottom line of a terminal.

    Args:
        stream: Where to write; nothing is shown if it is no terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = 0
        self._lock = threading.Lock()
        self.enabled = stream.isatty() and environment().get("TERM", "dumb") != "dumb"

    def show(self, text: str) -> None:
        if not self.enabled:
            return
        with self._lock:
            columns, rows = _size(self._stream)
            start = self._claim(rows) if rows != self._rows else ""
            line = f"{_SAVE}\x1b[{rows};1H{_CLEAR}{text[: columns - 1]}{_RESTORE}"
            self._write(start + line)

    def close(self) -> None:
        with self._lock:
            if self._rows:
                self._write(f"{_SAVE}\x1b[r\x1b[{self._rows};1H{_CLEAR}{_RESTORE}")
                self._rows = 0

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal went away, or the script closed it
            self._stream.write(text)
            self._stream.flush()

    def _claim(self, rows: int) -> str:
        """Return what makes the terminal scroll above its last row."""
        self._rows = rows
        # A line feed first: the cursor may stand in the last row, and its text must not be lost.
        return f"\n{_SAVE}\x1b[1;{rows - 1}r{_RESTORE}\x1b[1A"


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


class FindingDedup:
    """Knows which findings only follow from others that were shown.

    Such a finding is counted, unless it is more severe than all that was shown of its chain.

    Args:
        order: The tensors of the run, as far as they were observed.
    """

    def __init__(self, order: StepOrder) -> None:
        self._order = order
        self._findings: list[Finding] = []
        self._printed: set[str] = set()
        self._hidden: set[str] = set()

    @property
    def num_hidden(self) -> int:
        return len(self._hidden)

    def add(self, finding: Finding) -> None:
        self._findings.append(finding)

    def hides(self, finding: Finding) -> bool:
        """Return whether a finding is only counted; else it counts as shown from now on."""
        name = finding.finding_id
        if name in self._printed | self._hidden:  # several ask
            return name in self._hidden
        found = (chain.findings for chain in chains(self._findings, self._order))
        chain = next(
            members for members in found if name in [member.finding_id for member in members]
        )
        printed = [
            SEVERITIES.index(one.severity) for one in chain if one.finding_id in self._printed
        ]
        is_first = chain[0].finding_id == name
        hidden = not is_first and SEVERITIES.index(finding.severity) <= max(printed, default=-1)
        (self._hidden if hidden else self._printed).add(name)
        return hidden


# The line at the bottom of a terminal; lines in a file come less often, and ever less.
_REDRAW_S = 0.25
_FIRST_LINE_S, _LAST_LINE_S = 5.0, 60.0
_MOST_CHAINS = 10
# What observing took is a share of the time where training took longer than this, seconds.
_LONG_S = 20.0
# What was shown so lately is not repeated at the end, seconds.
_SEEN_S = 60.0
_NO_KERNEL = (
    "the compiled kernel is missing: NumPy computes the statistics, about ten times slower; "
    "install a wheel for this platform, or build with a C compiler"
)


class Progress:
    """Shows step, rate, loss and findings; a listener of the recorder.

    Of several workers the first shows all of it, the others what they found, and what went wrong.

    Args:
        run: Where the run is written.
        quiet: Show findings only.
        is_first: Whether this process is that of the first worker, as far as that is known before
            the run begins.
        stream: Where to show it; standard error by default.
    """

    def __init__(
        self,
        run: str,
        *,
        quiet: bool = False,
        is_first: bool = True,
        stream: TextIO | None = None,
    ) -> None:
        self._run = run
        #: Whether this process is that of the first worker.
        self.is_first = is_first
        self._quiet = quiet
        self._stream = stream or _stderr()
        self._line = StatusLine(self._stream)
        self._began = self._drawn = time.monotonic()
        self._pause = _FIRST_LINE_S
        self._steps: dict[Mode, int] = {}
        self._losses: dict[Mode, list[float]] = {}  # the statistics of the last loss
        self._findings, self._last_step = 0, -1
        #: The tensors of the run, as far as they were observed.
        self.order = StepOrder()
        self._dedup = FindingDedup(self.order)
        self._shown_at: dict[str, float] = {}  # when each finding was shown
        self._who = "stepwatch"
        self._are_several = self._in_parts = False
        self._warned = False

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """The run begins; where workers share a terminal, each line says from whom it is."""
        del patterns
        self._are_several = are_several(store)
        self.is_first = not self._are_several or worker == FIRST_WORKER
        if self._are_several:
            self._who = f"stepwatch {worker}"
        if not (has_kernel() or self._warned):  # each of several hooks begins
            self._warned = True
            self.print_detail(_NO_KERNEL)

    def on_step(self, record: StepRecord) -> None:
        """Count a step, and show it if the last time is long enough ago."""
        self._in_parts |= record.layout.has_parts
        self.order.add(record.layout)
        self._steps[record.mode] = record.mode_step + 1
        self._last_step = record.step
        rows = record.layout.rows_of.get("losses")
        if rows is not None:
            self._losses[record.mode] = record.statistics[rows[-1]].tolist()
        now = time.monotonic()
        is_silent = self._quiet or not self.is_first
        if is_silent or now - self._drawn < (_REDRAW_S if self._line.enabled else self._pause):
            return
        self._drawn = now
        if self._line.enabled:
            self._line.show(f"{self._who}  {self._state(now)}")
        else:
            self._pause = min(2 * self._pause, _LAST_LINE_S)
            self.print_line(self._state(now))

    def remote(self, send: object) -> None:
        """All is shown by the process of the training."""

    def on_sample(self, record: StepRecord) -> None:
        """Take in the last of some steps."""
        self.on_step(record)

    def finish(self) -> None: ...

    def count(self, finding: Finding) -> None:
        self._findings += 1
        self._dedup.add(finding)

    def hides(self, finding: Finding) -> bool:
        """Return whether a finding only follows from what was shown, and is but counted."""
        is_hidden = self._dedup.hides(finding)
        if not is_hidden:
            self._shown_at.setdefault(finding.finding_id, time.monotonic())
        return is_hidden

    def print_line(self, line: str) -> None:
        """Show a line that stays, or nothing where nobody reads any more.

        On a terminal, or where ``COLUMNS`` says how wide to write, it is wrapped.
        """
        with suppress(OSError, ValueError):
            begin, width = f"{self._who}: ", self._width()
            text = hanging(visible(line), width, begin) if width else begin + visible(line)
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def _width(self) -> int:
        """Return how many characters a line has; 0 where that is not known."""
        columns = environment().get("COLUMNS", "")
        if columns.isdecimal() and int(columns):
            return int(columns)
        return _size(self._stream)[0] if self._stream.isatty() else 0

    def print_detail(self, line: str) -> None:
        """Show a line that stays, if any, unless findings alone are wanted, or another shows it."""
        if line and self.is_first and not self._quiet:
            self.print_line(line)

    def close(self) -> None:
        self._line.close()

    def run_state(self, end: End | None) -> RunState:
        """Return how the run stands; ``None`` for an end that has not come."""
        trained = self._steps.get(Mode.TRAIN, 0)
        train_step = trained - 1 if trained else None
        if end is None:
            steps = sum(self._steps.values())
            return RunState("running", steps, self._last_step, train_step=train_step)
        reason = "" if end.state == "stopped" else end.error  # else a finding says why
        stands = RunState(
            end.state, end.steps, self._last_step, reason, end.traceback, train_step=train_step
        )
        if end.state == "failed":
            with suppress(StepwatchError, OSError, ValueError):  # the run itself may be lost
                return explained(Trial(self._run), stands)
        return stands

    def summary(
        self, end: End, findings: Sequence[Finding], statuses: Sequence[RuleStatus]
    ) -> None:
        """Show what became of the run."""
        if self._quiet:
            if self._dedup.num_hidden:
                hidden = plural(self._dedup.num_hidden, "more finding")
                self.print_line(f"{hidden} may follow from these; see: stepwatch show {self._run}")
            return
        found = chains(findings, self.order)
        head = headline(self.run_state(end), found, statuses)
        if self.is_first or findings or head.outcome == "failed":
            self._print_findings(head, found)
        for status in statuses:
            if status.outcome == "failed":
                self.print_line(f"  {status.rule} failed: {status.details}")
        if self.is_first:
            self._print_length(end)
        if end.lost:
            self.print_line(f"lost: {end.lost}")
        elif end.failures:
            self.print_line(f"{plural(end.failures, 'failure')}, and nothing lost by it")
        if end.error and end.state in ("finished", "interrupted"):
            self.print_line(f"error: {end.error}")
        if self.is_first and end.lost != DELETED:
            self._print_ways_on()

    def _print_length(self, end: End) -> None:
        seconds = time.monotonic() - self._began
        # With those of which nothing was observed, as most batches of predict() under a budget.
        known = {mode: max(one, end.counted.get(mode, 0)) for mode, one in self._steps.items()}
        counted = ", ".join(f"{count} {mode}" for mode, count in known.items())
        total = sum(known.values())
        steps = f"{plural(max(total, end.steps), 'step')} ({counted or 'none'})"
        if end.steps < total:  # the configuration, or the budget, left some out
            steps = f"saved {end.steps} of {steps}"
        self.print_line(f"{end.state}, {steps} in {seconds:.1f} s")
        if end.cost and end.cost_s is not None:
            # Of a short training the start is most.
            is_long = end.cost_s / end.cost > _LONG_S
            share = f", {end.cost:.1%} of the training's own time" if is_long else ""
            self.print_line(f"observing took {end.cost_s:.1f} s{share}, as far as it is measured")

    def _print_findings(self, head: Headline, found: Sequence[Chain]) -> None:
        self.print_line(head.title)
        is_above = head.outcome == "found" and head.cause is not None and self._stands(head.cause)
        for line in filter(None, [head.rest, *head.details, "" if is_above else head.remedy]):
            self.print_line(f"  {line}")
        shown = episodes(found)
        for one in shown[:_MOST_CHAINS]:
            cause = one.chain.cause
            is_said = cause is head.cause and head.outcome == "found"
            heading, *below = [cause.origin] if is_said else self._lines(cause)
            self.print_line(f"  {heading}")
            for line in (*below, *one.lines()):
                self.print_line(f"    {line}")
        if len(shown) > _MOST_CHAINS:
            self.print_line(f"  and {plural(len(shown) - _MOST_CHAINS, 'more cause')}")
        if shown and head.checks:
            self.print_line(counts(head.checks))

    def _lines(self, cause: Finding) -> list[str]:
        """Return what is said of a cause beneath the headline."""
        return (replace(cause, remedy="") if self._stands(cause) else cause).lines()

    def _stands(self, finding: Finding) -> bool:
        """Return whether what to do about a finding was shown so lately that it is still seen."""
        shown = self._shown_at.get(finding.finding_id)
        return shown is not None and time.monotonic() - shown < _SEEN_S

    def _print_ways_on(self) -> None:
        self.print_line(f"look at it with: stepwatch show {self._run}")
        if self._are_several:
            but = " but no sharded tensor" if self._in_parts else ""
            whole = f"judge the whole with: stepwatch check {self._run}"
            self.print_line(f"each worker judged what it saw{but}; {whole}")

    def _state(self, now: float) -> str:
        steps = sum(self._steps.values())
        rate = steps / max(now - self._began, 1e-9)
        losses = "  ".join(
            f"{'' if mode is Mode.TRAIN else f'{mode} '}loss {quantity(np.array(row), 'mean'):.4g}"
            for mode, row in self._losses.items()
        )
        hidden = self._dedup.num_hidden
        follow = f" ({hidden} may follow from others)" if hidden else ""
        found = f"{plural(self._findings, 'finding')}{follow}"
        return f"step {steps}  {rate:.1f}/s  {losses}  {found}"
