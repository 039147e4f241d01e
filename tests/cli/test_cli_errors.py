"""What is typed wrongly is told in one line, with what would be right, whatever the verb."""

from __future__ import annotations

import pytest

from stepwatch.cli.main import GROUP, main
from stepwatch.plugins import registry


def told(capsys, *arguments):
    """Return the exit status of a command, and the lines on its two outputs."""
    status = 0
    try:
        main(arguments)
    except SystemExit as exit_:
        status = exit_.code or 0
    streams = capsys.readouterr()
    return status, streams.out.splitlines(), streams.err.splitlines()


@pytest.mark.parametrize(
    ("arguments", "clear"),
    [
        (["replay", "r", "--step", "x"], "'x' is not a valid integer; see: stepwatch replay --hel"),
        (["replay", "r"], "missing option '--step'; see: stepwatch replay --help"),
        (["diff"], "missing argument 'RUN_A'; see: stepwatch diff --help"),
        (["show", "r", "more"], "unexpected extra argument (more); see: stepwatch show --help"),
        (["show", "r", "--tenser", "w"], "--tenser"),
        (["show", "r", "--tensor"], "option '--tensor' requires an argument"),
        (["show", "r", "--plot", "/"], "File '/' is a directory"),
        (["blackbox", "r", "--steps", "0"], "0 is not in the range x>=1"),
        (["run", "--black-box", "-1", "s.py"], "-1 is not in the range x>=0"),
        (["run", "--format", "xml", "s.py"], "'xml' is not one of 'native', 'smdebug'"),
        (["shwo", "r"], "did you mean show?"),
        (["--bogus"], "no such option '--bogus'; see: stepwatch --help"),
    ],
)
def test_it_is_one_line_that_says_what_would_be_right(capsys, arguments, clear):
    """Exit status 2, nothing on standard output."""
    status, out, err = told(capsys, *arguments)

    assert (2, [], 1) == (status, out, len(err))
    assert err[0].startswith("stepwatch: ")
    assert clear in err[0]


@pytest.mark.parametrize("verb", registry.names(GROUP))
def test_every_verb_tells_of_an_option_that_it_lacks(capsys, verb):
    """Ours and everybody's."""
    status, out, err = told(capsys, verb, "--no-such-option")

    assert (2, [], 1) == (status, out, len(err))


def test_the_bare_command_tells_what_there_is(capsys):
    """That is no error."""
    status, out, err = told(capsys)

    assert (0, []) == (status, err)
    assert any(line.split()[:1] == ["show"] for line in out)
