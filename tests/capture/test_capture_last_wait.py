"""The wait for a slow store at the end of a run: told of, bounded, and left by Ctrl-C."""

from __future__ import annotations

import itertools
import logging
import signal
import threading

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode

_numbers = itertools.count()
LONG_S = 600


@pytest.fixture
def going_on():
    """Let a store go on that hangs; it does at the end of a test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def recorder(monkeypatch):
    monkeypatch.setattr("stepwatch.capture.mirror.SILENT_S", 0.0)
    return Recorder(f"memory://last-wait-{next(_numbers)}", rank=(0, 1))


def observe(recorder):
    info = TensorInfo("w", "weights", "float32", (2,))
    recorder.open_step(Mode.TRAIN).add(info, np.ones(2, np.float32))
    recorder.end_step(Mode.TRAIN)


class Log(logging.Handler):
    """Keeps what is logged; does something at the first line of it."""

    def __init__(self, then):
        super().__init__()
        self.lines, self._then = [], then

    def emit(self, record):
        self.lines.append(record.getMessage())
        if len(self.lines) == 1:
            self._then()


@pytest.fixture
def log():
    """Return a function that begins to listen to our log."""
    logger, handlers = logging.getLogger("stepwatch"), []

    def listen(then):
        handlers.append(Log(then))
        logger.addHandler(handlers[-1])
        return handlers[-1]

    yield listen
    for handler in handlers:
        logger.removeHandler(handler)


def test_a_long_wait_is_told_of_once(recorder, log, going_on, monkeypatch):
    """Where to, how long at most, and how to leave it; then the store goes on and all is there."""
    writer = recorder._writers[0]
    write, close = writer.write, writer.close
    monkeypatch.setattr(writer, "write", lambda record: (going_on.wait(LONG_S), write(record)))
    monkeypatch.setattr(writer, "close", lambda note: (going_on.wait(LONG_S), close(note)))
    log = log(going_on.set)
    observe(recorder)
    end = recorder.close()

    (line,) = log.lines
    assert line.startswith(f"waiting for {recorder.store.url} to take the last steps, ")
    assert "Ctrl-C leaves them out" in line
    assert ("finished", 0, "") == (end.state, end.dropped, end.lost)


def test_slow_notes_at_the_end_are_told_of_as_well(recorder, log, going_on, monkeypatch):
    """The steps are stored, and what ends the run hangs."""
    writer = recorder._writers[0]
    close = writer.close
    monkeypatch.setattr(writer, "close", lambda note: (going_on.wait(LONG_S), close(note)))
    monkeypatch.setattr("stepwatch.capture.mirror.SILENT_S", 0.2)
    log = log(going_on.set)
    observe(recorder)
    recorder.close()

    assert ["waiting"] == [line.split()[0] for line in log.lines]


def test_ctrl_c_leaves_the_wait_and_nothing_else(recorder, log, going_on, monkeypatch):
    """What was not stored is counted in the note; the script goes on."""
    writing = threading.Event()
    write = lambda record: (writing.set(), going_on.wait(LONG_S))  # noqa: E731
    monkeypatch.setattr(recorder._writers[0], "write", write)
    log(lambda: (writing.wait(LONG_S), signal.raise_signal(signal.SIGINT)))
    for _ in range(3):
        observe(recorder)
    end = recorder.close()

    assert "2 of 3 steps (the store was too slow)" == end.lost
