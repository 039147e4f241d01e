"""Which workers of a run still write, and what that makes of its state."""

from __future__ import annotations

import os
import socket

import pytest

from stepwatch.formats.manifest import End, Manifest, Process, read_processes, write_process
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.steps import Mode
from stepwatch.store.memory import MemoryStore
from stepwatch.testing.made_runs import make_record
from stepwatch.trial import Trial
from stepwatch.trial.trial import Presence

FINISHED, FAILED = End("finished", 0), End("failed", 0)
BOTH = ("worker_0", "worker_1")


@pytest.mark.parametrize(
    ("state", "first_runs", "joined", "ends"),
    [
        ("running", True, {"worker_1": True}, {}),
        ("running", True, {"worker_1": False}, {}),
        ("running", True, {"worker_1": True}, {"worker_1": FINISHED}),
        ("running", False, {"worker_1": True}, {"worker_0": FINISHED}),
        ("running", True, {}, {}),
        ("finished", False, {"worker_1": False}, {"worker_0": FINISHED, "worker_1": FINISHED}),
        ("failed", False, {"worker_1": False}, {"worker_0": FINISHED, "worker_1": FAILED}),
        ("died", False, {"worker_1": False}, {"worker_0": FINISHED}),
        ("died", False, {"worker_1": False}, {"worker_1": FAILED}),
        ("died", True, {"worker_1": False}, {"worker_0": FINISHED}),
    ],
)
def test_a_run_goes_on_while_one_worker_does(state, first_runs, joined, ends):
    """Then it is as bad as the worst of their ends, and worst is to be gone without a note."""
    assert state == Presence(first_runs, joined, ends, 2).state(BOTH)


def test_workers_that_never_came_are_waited_for_while_the_first_runs():
    """Once it is gone nobody joins any more."""
    assert ("running", 2) == (
        Presence(True, {}, {}, 2).state(["worker_0"]),
        Presence(True, {}, {}, 2).num_awaited(["worker_0"]),
    )
    assert ("died", 1) == (
        Presence(False, {}, {}, 2).state(["worker_0"]),
        Presence(False, {}, {}, 2).num_awaited(["worker_0"]),
    )


def test_who_joined_is_waited_for_although_the_first_has_ended():
    """It has yet to store its first steps."""
    presence = Presence(False, {"worker_1": True}, {"worker_0": FINISHED}, 2)

    assert ("running", 2) == (presence.state(["worker_0"]), presence.num_awaited(["worker_0"]))


def test_without_notes_the_first_process_stands_for_all():
    """As in runs of other writers."""
    assert frozenset(BOTH) == Presence(False, {}, {}, 2).gone(BOTH)
    assert frozenset() == Presence(True, {}, {}, 2).gone(BOTH)


@pytest.mark.parametrize(
    ("pid", "steps", "last_steps"),
    [
        (2**22 + 1, [0, 1, 2, 3], {"worker_0": 3}),
        (os.getpid(), [0, 1], {"worker_0": 3, "worker_1": 1}),
    ],
    ids=["dead", "alive"],
)
def test_a_worker_that_lives_holds_up_the_steps_of_others_and_a_dead_one_does_not(
    pid, steps, last_steps
):
    """What a dead one did not write will not come; of who lives it is told how far they are."""
    store = MemoryStore(f"presence-{pid}")
    here = (socket.gethostname(), os.getpid(), "")
    start_run(store, Manifest("run", 0, num_workers=2, host=here[0], pid=here[1]))
    write_process(store, "worker_1", Process(here[0], pid, ""))
    for worker, count in (("worker_0", 4), ("worker_1", 2)):
        writer = NativeWriter(store, worker)
        for step in range(count):
            writer.write(make_record(step, {"w": [1.0]}, worker=worker))
        writer.flush()
    trial = Trial(store)

    assert ("running", steps) == (trial.state, trial.steps())
    assert last_steps == trial.last_steps


def test_a_note_is_read_as_it_was_written():
    """Host, number and identity."""
    store = MemoryStore("presence-note")
    process = Process("host", 12, "boot namespace start")
    write_process(store, "worker_7", process)

    assert {"worker_7": process} == read_processes(store)


def test_what_is_known_of_a_death_is_counted_as_training_counts():
    """Evaluation steps before the last TRAIN step are none of its count."""
    store = MemoryStore("presence-death")
    start_run(store, Manifest("run", 0, host=socket.gethostname(), pid=2**22 + 1))
    writer = NativeWriter(store, "worker_0")
    for step, (mode, within) in enumerate([("TRAIN", 0), ("EVAL", 0), ("EVAL", 1), ("TRAIN", 1)]):
        loss = {"loss/mse": [1.0]}
        writer.write(make_record(step, loss, mode=Mode(mode), mode_step=within))
    writer.flush()

    assert Trial(store).death.endswith("what came after step 1 is lost")
