"""The part of a hook's laws that says that training is not hurt, and how it ends."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from ..capture.open_step import OpenStep
from ..capture.recorder import Recorder
from ..errors import StoreError, TrainingStopped
from ..formats.manifest import End
from ..steps import Mode
from ..store.memory import MemoryStore
from ..trial import Trial
from .hook_training import STEPS, HookTraining, Trained


class UnharmedContract(HookTraining):
    """A training under a hook is the training without it."""

    # That training is not hurt

    def test_training_is_bit_for_bit_the_same(self, tmp_path: Path) -> None:
        """Random numbers included."""
        without = self.train(None, STEPS)
        within = self.watch(tmp_path / "run", STEPS)

        _assert_same(without, within)

    def test_what_was_replaced_is_put_back(self, tmp_path: Path) -> None:
        """After the end the framework is as it was before."""
        before = list(self.patched())
        self.watch(tmp_path / "run", 2)

        assert all(x is y for x, y in zip(before, self.patched(), strict=True))

    def test_a_failure_of_ours_ends_capturing_and_not_training(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is logged once, and the note at the end says so."""
        without = self.train(None, STEPS)
        monkeypatch.setattr(OpenStep, "add", _fail)
        monkeypatch.setattr(OpenStep, "add_row", _fail)
        monkeypatch.setattr(OpenStep, "add_statistics", _fail)
        with caplog.at_level(logging.ERROR, "stepwatch"):
            hook = self.make(tmp_path / "run", say=lambda _: None)
            within = self.train(hook, STEPS)
            end = hook.close()

        _assert_same(without, within)
        assert "on purpose" in end.error
        assert len([one for one in caplog.records if one.name == "stepwatch"]) == 1

    def test_a_store_that_refuses_does_not_reach_the_training(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What could not be stored is counted."""
        without = self.train(None, STEPS)
        hook = self.make(f"memory://refusing-{id(self)}", say=lambda _: None)
        monkeypatch.setattr(MemoryStore, "put", _refuse)
        monkeypatch.setattr(MemoryStore, "put_all", _refuse, raising=False)
        within = self.train(hook, STEPS)
        end = hook.close()

        _assert_same(without, within)
        assert end.dropped >= STEPS

    def test_a_listener_that_raises_does_not_reach_the_training(self, tmp_path: Path) -> None:
        """Its failures are counted, and the run is whole."""
        without = self.train(None, STEPS)
        hook = self.make(tmp_path / "run", listeners=[Raising()], say=lambda _: None)
        within = self.train(hook, STEPS)
        end = hook.close()

        _assert_same(without, within)
        assert (end.failures, end.dropped) == (STEPS, 0)

    # How it ends

    def test_an_error_of_the_script_is_its_own(self, tmp_path: Path) -> None:
        """It comes through as it is; what was captured before is there."""
        hook = self.make(tmp_path / "run", say=lambda _: None)

        def each(step: int) -> None:
            if step == 3:
                raise _OfTheUser

        with pytest.raises(_OfTheUser), hook:
            self.train(hook, STEPS, each)

        trial = Trial(tmp_path / "run")
        assert trial.state == "failed"
        assert {0, 1, 2} <= set(trial.steps(Mode.TRAIN))

    def test_it_stops_the_training_when_asked(self, tmp_path: Path) -> None:
        """After the step that is running, in the framework's way or by ``TrainingStopped``."""
        hook = self.make(tmp_path / "run", say=lambda _: None)

        def each(step: int) -> None:
            if step == 3:
                hook.stop("seen enough")

        try:
            done = len(self.train(hook, STEPS, each).losses)
        except TrainingStopped as stopped:
            end: End = hook.close("stopped", stopped.reason)
            done = end.steps
        else:
            end = hook.close()

        assert 4 <= done <= 5
        assert (end.state, "seen enough" in end.error) == ("stopped", True)

    def test_nothing_is_captured_once_it_let_go(self, tmp_path: Path) -> None:
        """And again after it took hold again."""
        hook = self.make(tmp_path / "run", say=lambda _: None)
        self.train(hook, 2)
        hook.detach()
        self.train(hook, 3)
        hook.attach()
        self.train(hook, 2)
        hook.close()

        assert len(Trial(tmp_path / "run").steps(Mode.TRAIN)) == 4

    def test_closing_twice_is_closing_once(self, tmp_path: Path) -> None:
        """The second time the first note comes back."""
        hook = self.make(tmp_path / "run", say=lambda _: None)
        self.train(hook, 2)

        assert hook.close() == hook.close("failed", "too late")

    def test_two_hooks_write_one_run(self, tmp_path: Path) -> None:
        """A recorder is handed on; closing one closes both."""
        recorder = Recorder(tmp_path / "run")
        hook = self.make(recorder, say=lambda _: None)  # type: ignore[arg-type]
        self.train(hook, 2)
        hook.close()

        assert recorder.closed
        assert len(Trial(tmp_path / "run").steps(Mode.TRAIN)) == 2


class Raising:
    """A listener with a fault."""

    def start(self, *_: object) -> None:
        """Nothing to learn."""

    def finish(self) -> None:
        """Nothing is left."""

    def look(self, _: object) -> None:
        """Fail."""
        raise ValueError("of the listener")


class _OfTheUser(Exception):
    """Raised by the user's own code."""


def _fail(*_: object, **__: object) -> None:
    raise RuntimeError("on purpose")


def _refuse(*_: object, **__: object) -> None:
    raise StoreError("refused on purpose")


def _assert_same(without: Trained, within: Trained) -> None:
    assert list(without.losses) == list(within.losses)
    assert set(without.weights) == set(within.weights)
    for name, value in without.weights.items():
        np.testing.assert_array_equal(value, within.weights[name], err_msg=name)
