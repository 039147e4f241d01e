"""The laws of a hook, as a test class that the hook of each framework inherits.

Example:
    class TestMyHook(HookContract):
        def make(self, run, **options): return MyHook(run, **options)
        def train(self, hook, steps, each): ...  # train for so many steps; hook is None without us
        def script(self, steps): ...  # the text of a script that trains, with no word of us
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ..record import StepRecord
from ..steps import Mode
from ..trial import Trial
from .hook_training import STEPS, Trained
from .unharmed_contract import UnharmedContract

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
                seen = trial.tensor(name).value(at, mode=Mode.TRAIN).astype(np.float64)
                np.testing.assert_allclose(seen, value, rtol=self.rtol, err_msg=name)

    def test_losses_are_those_of_the_training(self, tmp_path: Path) -> None:
        """At each step the number that the training itself had."""
        trained = self.watch(tmp_path / "run", STEPS)

        seen = Trial(tmp_path / "run").tensor(self.loss).statistics(mode=Mode.TRAIN)["mean"]
        np.testing.assert_allclose(seen, trained.losses, rtol=max(self.rtol, 1e-6))

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
        said: list[str] = []
        hook = self.make(tmp_path / "run", say=said.append)
        self.train(hook, STEPS)
        end = hook.close()

        lines = [line for line in said if line.startswith("capturing ")]
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
        seen = Seen()
        self.watch(tmp_path / "run", STEPS, listeners=[seen])

        trains = [record for record in seen.records if record.mode is Mode.TRAIN]
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


class Seen:
    """A listener that keeps what it sees."""

    def __init__(self) -> None:
        self.records: list[StepRecord] = []

    def start(self, store: object, worker: str, patterns: object) -> None:
        """Nothing to learn."""

    def look(self, record: StepRecord) -> None:
        """Keep it."""
        self.records.append(record)

    def finish(self) -> None:
        """Nothing is left."""


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
