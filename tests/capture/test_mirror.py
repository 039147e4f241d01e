"""A run is copied elsewhere beside the training, which never waits for it."""

from __future__ import annotations

import itertools
import logging
import os
import threading

import numpy as np
import pytest

from stepwatch.capture import Recorder, mirror
from stepwatch.capture.output import Output
from stepwatch.errors import ConfigError, StoreError
from stepwatch.formats.copying import RunCopy
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_run
from stepwatch.trial import Trial

_numbers = itertools.count()
LONG_S = 30


class Unsteady(MemoryStore):
    """Refuses while ``is_away``; hangs while it may not go on."""

    def __init__(self, name):
        super().__init__(name)
        self.is_away = False
        self.goes_on = threading.Event()
        self.goes_on.set()

    def put(self, key, data):
        self.goes_on.wait(LONG_S)
        if self.is_away:
            raise StoreError("the network is away")
        super().put(key, data)


@pytest.fixture
def target(monkeypatch):
    store = Unsteady(f"mirror-{next(_numbers)}")
    monkeypatch.setattr(mirror, "open_store", lambda _: store)
    monkeypatch.setattr(mirror, "TICK_S", 0.01)
    monkeypatch.setattr(mirror, "PAUSE_S", 0.01)
    monkeypatch.setattr(mirror, "LONGEST_PAUSE_S", 0.02)
    yield store
    store.goes_on.set()


@pytest.fixture
def recorder(target, tmp_path):
    return Recorder(tmp_path / "run", output=Output(mirror=target.url), rank=(0, 1))


def train(recorder, num_steps):
    for _ in range(num_steps):
        info = TensorInfo("w", "weights", "float32", (2,))
        recorder.open_step(Mode.TRAIN).add(info, np.ones(2, np.float32))
        recorder.end_step(Mode.TRAIN)


def missing(recorder, target):
    """Return the keys of a run that are not in its copy."""
    left = set(recorder.store.list()) - set(target.list())
    return {key for key in left if not key.startswith(("reserve/", "blackbox/"))}


class TestMirror:
    def test_a_run_lies_in_both_places_when_it_has_ended(self, recorder, target):
        """To the byte, with its end."""
        train(recorder, 5)
        recorder.close()

        assert set() == missing(recorder, target)
        for key in target.list():
            assert recorder.store.get(key) == target.get(key)
        trial = Trial(MemoryStore(target.url))
        assert ("finished", [0, 1, 2, 3, 4]) == (trial.state, trial.steps())

    def test_what_a_network_missed_is_copied_when_it_is_back(self, recorder, target, caplog):
        """It is told of once."""
        copied = threading.Event()
        put = target.put
        target.put = lambda key, data: (
            put(key, data),
            key.startswith("observations/") and copied.set(),
        )
        target.is_away = True
        with caplog.at_level(logging.WARNING, "stepwatch"):
            for _ in range(3):
                train(recorder, 3)
                recorder.flush()
            target.is_away = False
            train(recorder, 1)
            recorder.flush()
            assert copied.wait(LONG_S)
            recorder.close()

        late = [one.getMessage() for one in caplog.records if "is late" in one.getMessage()]
        assert 1 >= len(late)
        assert set() == missing(recorder, target)

    def test_the_end_waits_a_bounded_time_and_says_how_to_go_on(
        self, recorder, target, caplog, monkeypatch
    ):
        """A store that hangs costs neither the run nor its steps."""
        monkeypatch.setattr(mirror, "CLOSE_TIMEOUT_S", 0.2)
        target.goes_on.clear()
        train(recorder, 5)
        with caplog.at_level(logging.WARNING, "stepwatch"):
            end = recorder.close()
        told = [one.getMessage() for one in caplog.records if "not complete" in one.getMessage()]

        assert (5, 0, "") == (end.steps, end.dropped, end.lost)
        url = recorder.store.url
        assert [True] == [line.endswith(f"stepwatch mirror {url} {target.url}") for line in told]
        target.goes_on.set()
        RunCopy(recorder.store, target).advance()
        assert set() == missing(recorder, target)

    def test_a_store_that_refuses_at_the_end_is_tried_a_few_times(self, recorder, target, caplog):
        """And not for a minute."""
        target.is_away = True
        train(recorder, 1)
        with caplog.at_level(logging.WARNING, "stepwatch"):
            recorder.close()

        assert "not complete" in caplog.records[-1].getMessage()

    def test_another_run_is_not_written_over(self, target, tmp_path, caplog):
        """The training goes on without a copy, and the log says so."""
        make_run(target.url, steps=2)
        recorder = Recorder(tmp_path / "run", output=Output(mirror=target.url), rank=(0, 1))
        train(recorder, 5)
        with caplog.at_level(logging.WARNING, "stepwatch"):
            end = recorder.close()

        assert [0, 1] == Trial(MemoryStore(target.url)).steps()
        assert ("finished", 5) == (end.state, end.steps)
        assert "already holds another run" in caplog.text

    def test_a_run_is_no_mirror_of_itself(self, tmp_path):
        """It would be copied onto itself."""
        with pytest.raises(ConfigError, match="where the run is written"):
            Recorder(tmp_path, output=Output(mirror=str(tmp_path)), rank=(0, 1))

    def test_a_forked_child_copies_nothing_and_says_nothing(self, recorder, target, caplog):
        """What waits is its parent's to copy."""
        target.goes_on.clear()
        train(recorder, 1)
        child = os.fork()
        if child == 0:
            os._exit(recorder._mirror.close())
        status = os.waitpid(child, 0)[1]
        target.goes_on.set()
        recorder.close()

        assert 0 == status
        assert set() == missing(recorder, target)
