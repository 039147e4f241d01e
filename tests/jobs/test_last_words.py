"""Why a process failed is what it said last itself."""

from __future__ import annotations

import pytest

from stepwatch.jobs.logs import log_tail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loading\nerror: no such data\n\n", "error: no such data"),
        ("error: bad\nstepwatch: waiting for what is not stored yet\n", "error: bad"),
        ("stepwatch: stopped\n", "stepwatch: stopped"),
        ("x" * 100_000 + "\nlast", "last"),
        ("", ""),
    ],
)
def test_the_last_line_is_that_of_the_program(tmp_path, text, expected):
    """Ours stand behind; the log may be long."""
    log = tmp_path / "algo-1.log"
    log.write_text(text)

    assert expected == log_tail(log)


def test_a_process_that_wrote_nothing(tmp_path):
    """There is no log yet."""
    assert "" == log_tail(tmp_path / "nosuch.log")
