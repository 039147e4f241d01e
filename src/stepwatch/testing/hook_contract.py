"""The laws of a hook, as a test class that the hook of each framework inherits.

Example:
    class TestMyHook(HookContract):
        def make(self, run, **options): return MyHook(run, **options)
        def train(self, hook, steps, each): ...  # train for so many steps; hook is None without us
        def script(self, steps): ...  # the text of a script that trains, with no word of us
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from ..capture.open_step import OpenStep
from ..capture.recorder import Recorder
from ..errors import StoreError, TrainingStopped
from ..formats.manifest import End
from ..hooks.base import Hook
from ..model.record import StepRecord
from ..model.steps import Mode
from ..store.memory import MemoryStore
from ..trial import Trial

Array = npt.NDArray[Any]
Each = Callable[[int], None]
STEPS = 8


@dataclass(frozen=True)
class Trained:
    """What a training knows of itself, found without the hook.

    Args:
        weights: The trainable parameters after the last step, by the names under which the hook
            saves them; empty where a model has none, such as trees.
        losses: The loss of each TRAIN step that was done, as the training itself computed it.
    """

    weights: Mapping[str, Array]
    losses: Sequence[float]


class HookTraining:
    """A framework, as ``HookContract`` needs it."""

    #: Whether the framework has gradients to be seen.
    has_gradients: ClassVar[bool] = True
    #: Whether weights are saved as the step found them, or as it left them.
    weights_are: ClassVar[str] = "before"
    #: The name of the loss that ``Trained.losses`` holds.
    loss: ClassVar[str]
    #: How exactly losses and weights are computed, relative.
    rtol: ClassVar[float] = 1e-6

    def make(self, run: str | Path, **options: object) -> Hook:
        """Return a hook that is attached and sees what ``train`` does."""
        raise NotImplementedError

    def train(self, hook: Hook | None, steps: int, each: Each = lambda _: None) -> Trained:
        """Train a model in the ordinary way of the framework, from a fixed seed.

        Args:
            hook: To be handed to the framework where one is handed over; ``None`` without.
            steps: TRAIN steps.
            each: Call it with the number of each TRAIN step while the step is on its way, from
                what is the user's own: a callback, a data loader, the loop. What it raises ends
                the training like any error of the user's.
        """
        raise NotImplementedError

    def script(self, steps: int) -> str:
        """Return a script that trains for so many steps and prints its last loss in full.

        It has no word of us in it, and prints the same each time.
        """
        raise NotImplementedError

    def patched(self) -> Sequence[object]:
        """Return what of the framework the hook may replace, to be found as it was afterwards."""
        return ()

    def watch(self, run: Path, steps: int, **options: object) -> Trained:
        """Train under a hook of its own, to the end."""
        hook = self.make(run, say=lambda _: None, **options)
        with hook:
            return self.train(hook, steps)


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

    def on_step(self, _: object) -> None:
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


__all__ = ["HookContract", "Trained"]


class HookContract(UnharmedContract):
    """What every hook keeps to. Inherit it, name the class ``Test...`` and supply three things."""

    # What is captured

    def test_every_weight_is_seen_at_every_step(self, tmp_path: Path) -> None:
        """Under the names that ``train`` says, with the values of that step, bit for bit."""
        trained = {steps: self.train(None, steps) for steps in (3, 4)}
        self.watch(tmp_path / "run", STEPS, policy=["weights:raw"])

        trial = Trial(tmp_path / "run")
        assert list(range(STEPS)) == trial.steps(Mode.TRAIN)
        weights = trial.tensor_names(collection="weights")
        assert set(trained[3].weights) <= set(weights)
        for steps, after in trained.items():
            at = steps if self.weights_are == "before" else steps - 1
            for name, value in after.weights.items():
                observed = trial.tensor(name).value(at, mode=Mode.TRAIN).astype(np.float64)
                np.testing.assert_allclose(observed, value, rtol=self.rtol, err_msg=name)

    def test_losses_are_those_of_the_training(self, tmp_path: Path) -> None:
        """At each step the number that the training itself had."""
        trained = self.watch(tmp_path / "run", STEPS)

        observed = Trial(tmp_path / "run").tensor(self.loss).statistics(mode=Mode.TRAIN)["mean"]
        np.testing.assert_allclose(observed, trained.losses, rtol=max(self.rtol, 1e-6))

    def test_every_weight_has_a_gradient(self, tmp_path: Path) -> None:
        """At every step; where there are none, none are claimed."""
        trained = self.watch(tmp_path / "run", STEPS)

        trial = Trial(tmp_path / "run")
        gradients = trial.tensor_names(collection="gradients")
        assert (len(trained.weights) if self.has_gradients else 0) == len(gradients)
        for name in gradients:
            assert list(range(STEPS)) == trial.tensor(name).steps(Mode.TRAIN)

    def test_it_says_what_it_captures(self, tmp_path: Path) -> None:
        """In one line after the first step, which is kept with the run."""
        printed: list[str] = []
        hook = self.make(tmp_path / "run", say=printed.append)
        self.train(hook, STEPS)
        end = hook.close()

        lines = [line for line in printed if line.startswith("capturing ")]
        assert [end.coverage] == lines
        assert any(character.isdigit() for character in end.coverage)

    def test_only_what_is_wanted_is_saved(self, tmp_path: Path) -> None:
        """Schedules count TRAIN steps; what is switched off is not there."""
        kinds = ("weights:statistics:every=3", "losses:statistics:every=1", "gradients:none")
        trained = self.watch(tmp_path / "run", STEPS, policy=list(kinds))

        trial = Trial(tmp_path / "run")
        assert trial.tensor_names(collection="gradients") == []
        for name in trained.weights:
            assert list(range(0, STEPS, 3)) == trial.tensor(name).steps(Mode.TRAIN)
        assert list(range(STEPS)) == trial.tensor(self.loss).steps(Mode.TRAIN)

    def test_what_the_user_saves_is_there(self, tmp_path: Path) -> None:
        """Numbers and arrays, with the step during which they were given."""
        hook = self.make(tmp_path / "run", policy=["tensors:raw"])

        def each(step: int) -> None:
            hook.save_scalar("twice", 2.0 * step)
            hook.save_tensor("row", np.arange(3.0) + step)

        self.train(hook, STEPS, each)
        hook.close()

        trial = Trial(tmp_path / "run")
        twice = trial.tensor("scalar/twice")
        assert list(range(STEPS)) == twice.steps(Mode.TRAIN)
        np.testing.assert_array_equal(np.arange(STEPS) * 2.0, twice.statistics()["mean"])
        np.testing.assert_array_equal([4, 5, 6], trial.tensor("tensor/row").value(4))

    @pytest.mark.parametrize("run_format", ["native", "smdebug"])
    def test_both_formats_hold_the_run(self, tmp_path: Path, run_format: str) -> None:
        """Whatever reads only smdebug's has something to read."""
        self.watch(tmp_path / "run", STEPS, format=run_format)

        trial = Trial(tmp_path / "run")
        assert (len(trial.steps(Mode.TRAIN)), trial.state) == (STEPS, "finished")

    def test_a_listener_sees_every_step(self, tmp_path: Path) -> None:
        """In order, with what is stored."""
        observed = ObservedSteps()
        self.watch(tmp_path / "run", STEPS, listeners=[observed])

        trains = [record for record in observed.records if record.mode is Mode.TRAIN]
        assert list(range(STEPS)) == [record.mode_step for record in trains]
        assert all(self.loss in record.layout.row_of for record in trains)

    # Without a change to the script

    def test_a_script_is_watched_without_a_change(self, tmp_path: Path) -> None:
        """``stepwatch run`` sees what ``python`` runs, and the script prints the same."""
        script = tmp_path / "train.py"
        script.write_text(self.script(STEPS))
        plain = _run([sys.executable, str(script)], tmp_path)
        command = [sys.executable, "-m", "stepwatch", "run", "--run", "run", "train.py"]
        watched = _run(command, tmp_path)

        assert (plain.returncode, watched.returncode) == (0, 0), plain.stderr + watched.stderr
        assert plain.stdout == watched.stdout
        trial = Trial(tmp_path / "run")
        steps = trial.steps(Mode.TRAIN)
        assert (len(steps), trial.state) == (STEPS, "finished"), watched.stderr
        last = trial.tensor(self.loss).statistics(mode=Mode.TRAIN)["mean"][-1]
        printed = float(plain.stdout.split()[-1])
        np.testing.assert_allclose(last, printed, rtol=max(self.rtol, 1e-6))


class ObservedSteps:
    """A listener that keeps what it sees."""

    def __init__(self) -> None:
        self.records: list[StepRecord] = []

    def start(self, store: object, worker: str, patterns: object) -> None:
        """Nothing to learn."""

    def on_step(self, record: StepRecord) -> None:
        """Keep it."""
        self.records.append(record)

    def finish(self) -> None:
        """Nothing is left."""


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
