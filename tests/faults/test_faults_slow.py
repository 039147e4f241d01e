"""A store that is slower than the training: it costs steps, which are counted, and bounded time."""

from __future__ import annotations

import itertools
import os
import threading

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.capture import Recorder
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode

_numbers = itertools.count()
# How long a store holds up what is put, if nothing lets it go on before.
PATIENCE_S = 60

# A store of its own scheme, as anybody may install one: slow://SECONDS_PER_MB/folder.
PLUG_IN = """
import time
from stepwatch.store.local import LocalStore

class SlowStore(LocalStore):
    def __init__(self, url):
        pace, _, folder = url.removeprefix("slow://").partition("/")
        super().__init__("/" + folder)
        self._pace = float(pace)

    def put_parts(self, key, parts):
        time.sleep(self._pace * sum(memoryview(part).nbytes for part in parts) / 2**20)
        super().put_parts(key, parts)
"""

# 7.5 MB of full values at each step: more than the queue holds. The end waits for a minute, which
# is shortened.
LARGE = """
def be_brief():
    recorder = sys.modules.get("stepwatch.capture.recorder")
    if recorder is not None:
        recorder.CLOSE_TIMEOUT_S = 4.0

train(faults={0: be_brief}, width=160_000)
"""


@pytest.fixture
def slow_store(tmp_path):
    """Return where a package lies that knows slow stores."""
    package = tmp_path / "installed"
    info = package / "slow-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stepwatch.stores]\nslow = slow_store:SlowStore\n")
    (package / "slow_store.py").write_text(PLUG_IN)
    return package


@pytest.mark.slow
class TestSlowDisk:
    @pytest.mark.parametrize(
        ("pace", "told"),
        [(1.0, "the queue to the store is full"), (0.02, "stepwatch: lost: ")],
        ids=["1 MB/s", "50 MB/s"],
    )
    def test_steps_are_lost_and_counted_and_training_is_as_ever(
        self, faulty, slow_store, tmp_path, pace, told
    ):
        """Every step is stored or counted; its end waits as long as it said and no longer."""
        seen = faulty(
            LARGE,
            run=f"slow://{pace}{tmp_path}/run",
            options=["--save", "weights:raw", "--save", "gradients:raw"],
            env={**os.environ, "PYTHONPATH": str(slow_store)},
        )

        seen.assert_unharmed()
        trial, note = Trial(tmp_path / "run"), seen.end
        assert ("finished", 60) == (trial.state, note.steps)
        assert 60 == note.dropped + len(trial.steps())
        assert [f"{note.dropped} of 60 steps (the store was too slow)"] == seen.shown("lost")
        assert told in seen.watched.told


class TestNote:
    def test_a_store_that_is_too_slow_for_the_end_still_gets_the_note(self, monkeypatch):
        """Large values hold it up; the note, which is small, is put beside them."""
        monkeypatch.setattr("stepwatch.capture.recorder.CLOSE_TIMEOUT_S", 0.1)
        url = f"memory://too-slow-{next(_numbers)}"
        recorder = Recorder(url, rank=(0, 1), policy="weights:raw")
        put, going_on = recorder.store.put, threading.Event()
        monkeypatch.setattr(
            recorder.store,
            "put",
            lambda key, data: (key.startswith("end/") or going_on.wait(PATIENCE_S), put(key, data)),
        )
        for step in range(5):
            info = TensorInfo("w", "weights", "float32", (2,))
            recorder.open_step(Mode.TRAIN).add(info, np.full(2, step, np.float32))
            recorder.end_step(Mode.TRAIN)
        end = recorder.close()
        stored = Trial(url)
        state, steps, note = stored.state, stored.steps(), stored.reader.ends()["worker_0"]
        going_on.set()

        assert ("finished", [], "5 of 5 steps (the store was too slow)") == (
            state,
            steps,
            end.lost,
        )
        assert end == note
