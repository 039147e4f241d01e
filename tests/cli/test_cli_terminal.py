"""The line at the bottom of a terminal."""

from __future__ import annotations

import io
import os
import pty

import pytest

from stepwatch.cli.progress import Progress, StatusLine
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, environment


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestStatusLine:
    def test_it_takes_the_last_row_and_gives_it_back(self, monkeypatch):
        """The terminal scrolls above the line while it is there, and as ever afterwards."""
        monkeypatch.setenv("TERM", "xterm")
        terminal = Terminal()
        line = StatusLine(terminal)
        line.show("step 1")
        line.show("x" * 200)
        line.close()
        line.close()

        text = terminal.getvalue()
        assert 1 == text.count("\x1b[1;23r") == text.count("\x1b[r")
        assert "\x1b[24;1H\x1b[2Kstep 1" in text
        assert "x" * 79 in text
        assert "x" * 80 not in text
        assert text.count("\x1b7") == text.count("\x1b8")

    def test_a_file_or_a_dumb_terminal_is_left_alone(self, monkeypatch):
        """No control sequence ever gets into a log."""
        monkeypatch.setenv("TERM", "dumb")
        for stream in (Terminal(), io.StringIO()):
            line = StatusLine(stream)
            line.show("step 1")
            line.close()
            assert "" == stream.getvalue()

    def test_a_terminal_that_went_away_is_no_fault(self, monkeypatch):
        """A closed window must not stop a training."""
        monkeypatch.setenv("TERM", "xterm")
        terminal = Terminal()
        progress = Progress("run", stream=terminal)
        progress.print_line("here")
        terminal.close = lambda: None
        monkeypatch.setattr(terminal, "write", _hang_up)
        progress.print_line("gone")
        StatusLine(terminal).show("gone")
        progress.close()

        assert "stepwatch: here\n" == terminal.getvalue()


def _hang_up(text):
    raise OSError(5, "Input/output error")


class TestProgress:
    def test_it_shows_step_rate_loss_and_findings(self, monkeypatch):
        """In a file as lines that come ever less often."""
        clock = iter(range(0, 10**6, 2))
        monkeypatch.setattr("stepwatch.cli.progress.time.monotonic", lambda: next(clock))
        stream = io.StringIO()
        progress = Progress("run", stream=stream)
        for step in range(40):
            progress.on_step(make_record(step, {"loss/mse_loss": 0.5}))

        lines = stream.getvalue().splitlines()
        assert "stepwatch: step 3  0.5/s  loss 0.5  0 findings" == lines[0]
        assert 4 == len(lines)

    def test_a_long_line_is_wrapped_where_a_width_is_known(self, monkeypatch):
        """With a hanging indent, on a terminal or by COLUMNS; in a log a line stays a line."""
        line = "  step 4 loss_input: targets are out of the reach of the prediction"
        shown = []
        for columns in ("40", ""):
            monkeypatch.setenv("COLUMNS", columns)
            stream = io.StringIO()
            Progress("run", stream=stream).print_line(line)
            shown.append(stream.getvalue().splitlines())

        wrapped, plain = shown
        assert "stepwatch:   step 4 loss_input: targets" == wrapped[0]
        assert " " * 13 + "are out of the reach of the" == wrapped[1]
        assert [f"stepwatch: {line}"] == plain

    @pytest.mark.parametrize("compiled", [True, False])
    def test_a_missing_kernel_is_said_once(self, monkeypatch, compiled):
        """However many hooks begin to write; where it is there, nothing is said."""
        monkeypatch.setattr("stepwatch.cli.progress.has_kernel", lambda: compiled)
        stream = io.StringIO()
        progress = Progress("run", stream=stream)
        for _ in range(2):
            progress.start(open_store("memory://no-kernel"), "worker_0", {})

        lines = stream.getvalue().splitlines()
        assert [not compiled] * (not compiled) == ["kernel is missing" in x for x in lines]


@pytest.mark.slow
def test_a_script_in_a_terminal_looks_as_it_would(write, spoiled, tmp_path):
    """All it prints is there, in order; the region is set and reset around it."""
    _, plain, _ = spoiled
    script = write(
        "import time\n"
        "began = time.monotonic()\n"
        "train(5)\n"
        "while time.monotonic() < began + 1:\n"  # longer than the line needs to be drawn
        "    train(5)\n"
        "print('done')\n"
    )
    ours, theirs = pty.openpty()
    process = fork_server.Popen(
        [STEPWATCH, "run", "--run", "r", script], cwd=tmp_path, env=environment(TERM="xterm"),
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 65536):
            seen += block
    except OSError:
        pass  # Linux says so where the other side is closed
    os.close(ours)

    assert 0 == process.wait(60)
    text = seen.decode()
    assert text.index("\x1b[1;23r") < text.index("done\r\n") < text.index("\x1b[r")
    assert "stepwatch  step " in text
    for line in plain.stdout.splitlines()[:5]:
        assert f"{line}\r\n" in text
