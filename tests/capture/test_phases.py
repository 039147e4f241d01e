"""Where the time of a step goes: each nanosecond of it is in one phase."""

from __future__ import annotations

from contextlib import suppress

from stepwatch.capture.profiling import Phases, Spans
from stepwatch.errors import StoreError
from stepwatch.formats.profile.tables import Clock
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile


class Hand:
    """A clock whose hand is moved."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Training:
    """Phases of a training that takes as long as it is told to."""

    def __init__(self, name: str) -> None:
        self.hand = Hand()
        self.store = open_store(f"memory://phases-{name}")
        self.spans = Spans(Clock(self.hand, self.hand))
        self.spans.open(self.store, "worker_0")
        self.phases = Phases(self.spans)
        self.phases.on = True

    def spend(self, nanoseconds: int) -> None:
        self.hand.now += nanoseconds

    def steps(self) -> list[dict[str, object]]:
        self.spans.flush()
        return Profile(self.store).steps().to_pylist()

    def take(self, mode: Mode) -> None:
        step, _ = self.phases.counter.next(mode)
        self.phases.took(mode, step)


def train(training: Training) -> None:
    for phase, nanoseconds in (("data", 5), ("forward", 20), ("backward", 30), ("optimizer", 8)):
        training.phases.turn(phase)
        training.spend(nanoseconds)
        training.phases.turn("other")
        training.spend(1)
    training.phases.end(Mode.TRAIN)
    training.take(Mode.TRAIN)


class TestPhases:
    def test_they_sum_to_the_step(self):
        """What nobody told the phase of is other, and nothing is left over."""
        training = Training("sum")
        train(training)
        train(training)

        for step, found in enumerate(training.steps()):
            phases = {name: found[f"{name}_ns"] for name in ("data", "forward", "backward")}
            assert {"data": 5, "forward": 20, "backward": 30} == phases
            assert (8, 4) == (found["optimizer_ns"], found["other_ns"])
            assert (step, "TRAIN", 67) == (found["step"], found["mode"], found["duration_ns"])

    def test_a_wait_that_is_told_late_begins_when_it_began(self):
        """A loader tells how long it was waited for when it is over."""
        training = Training("late")
        training.phases.turn("other")
        training.spend(10)
        training.phases.turn("data", ago_ns=7)
        training.phases.turn("other")
        training.phases.end(Mode.TRAIN)

        assert [(7, 3)] == [(one["data_ns"], one["other_ns"]) for one in training.steps()]

    def test_no_phase_begins_before_the_step(self):
        """What is told to have begun earlier begins with the step."""
        training = Training("early")
        training.phases.turn("other")
        training.phases.end(Mode.TRAIN)
        training.spend(5)
        training.phases.turn("data", ago_ns=100)
        training.phases.end(Mode.TRAIN)

        assert [0, 5] == [one["data_ns"] for one in training.steps()]

    def test_steps_of_other_frameworks_end_when_they_are_handed_on(self):
        """A hook that tells no phases still tells how long its steps take."""
        training = Training("untold")
        for mode in (Mode.TRAIN, Mode.TRAIN, Mode.EVAL):
            training.spend(10)
            training.take(mode)

        assert [("TRAIN", 1, 10), ("EVAL", 2, 10)] == [
            (one["mode"], one["step"], one["other_ns"]) for one in training.steps()
        ]

    def test_time_in_which_nothing_is_heard_belongs_to_no_step(self):
        """A pause is in no step, and the step after it is as long as it was."""
        training = Training("pause")
        train(training)
        training.phases.pause()
        training.spend(1_000)
        train(training)

        assert [67, 67] == [one["duration_ns"] for one in training.steps()]

    def test_off_means_nothing_is_taken(self):
        """Nothing is gathered of a training that is not profiled."""
        training = Training("off")
        training.phases.on = False
        train(training)

        assert [] == training.steps()

    def test_a_step_that_never_ends_takes_bounded_memory(self):
        """A million turns within a step are told as so many as fit."""
        training = Training("long")
        for _ in range(30_000):
            training.phases.turn("data")
            training.spend(1)
            training.phases.turn("other")
        training.phases.end(Mode.TRAIN)

        assert [30_000] == [one["duration_ns"] for one in training.steps()]
        assert 1 == len(training.steps())


class TestSpans:
    def test_what_cannot_be_stored_is_counted(self, monkeypatch):
        """A store that refuses costs what was waiting, and later spans are stored."""
        training = Training("refuses")
        put = training.store.put

        def refuse(key, data):
            raise StoreError("away")

        monkeypatch.setattr(training.store, "put", refuse)
        train(training)
        try:
            training.spans.flush()
        except StoreError:
            dropped = training.spans.dropped
        monkeypatch.setattr(training.store, "put", put)
        train(training)

        assert dropped > 0
        assert [1] == [one["step"] for one in training.steps()]

    def test_storing_is_given_up_after_so_many_failures(self, monkeypatch):
        """Where it failed often in a row it is tried no more, and all that comes is counted."""
        training = Training("gives-up")
        training.spans.most_failures = 3
        calls = []

        def refuse(key, data):
            calls.append(key)
            raise StoreError("away")

        monkeypatch.setattr(training.store, "put", refuse)
        for _ in range(5):
            train(training)
            with suppress(StoreError):
                training.spans.flush()

        assert 3 == len(calls)
        assert training.spans.dropped == 5 * 9
