"""``stepwatch.init``, ``log``, ``finish``: what a script says itself, with and without ``run``."""

from __future__ import annotations

import pytest

from stepwatch import Trial
from stepwatch.formats.findings import read_findings
from stepwatch.formats.settings import RunSettings
from stepwatch.model.finding import Finding

#: Its losses fall, but for one.
LOGS = """\
import math, stepwatch
stepwatch.init("plain", tags=["x"], config={"lr": 0.1, "api_key": "abc"})
for step in range(300):
    loss = 60 if step == 240 else 2 * math.exp(-step / 60) + 0.01 * math.sin(step)
    stepwatch.log({"loss": loss, "lr": 0.1, "note": "no number"})
stepwatch.finish()
print("done")
"""
#: ``train`` is that of the fixture.
TRIALS = """
import stepwatch
for number in range(2):
    with stepwatch.init(f"trial-{number}", config={"lr": number}) as run:
        train(5)
        run.log({"mine": number})
"""


@pytest.fixture
def run_of(tmp_path):
    """Return a function that returns the runs whose folder begins with a name."""
    return lambda name: [Trial(path) for path in sorted((tmp_path / "runs").glob(f"{name}*"))]


class TestWithoutRun:
    def test_what_is_logged_is_judged_as_steps(self, write, python, run_of):
        """Its names say what it is, and the script's output stays as it was."""
        told = python(write(LOGS, training=False))
        (trial,) = run_of("plain")

        assert (0, "done\n") == (told.returncode, told.stdout)
        assert "Loss spike, step 240 (loss_spike)\n" in told.stderr
        assert 300 == len(trial.steps())
        assert {"loss/loss", "learning_rate/lr"} == set(trial.tensor_names())
        assert ["loss_spike"] == [
            Finding.from_json(line).rule for line in read_findings(trial.store)
        ]
        assert RunSettings("plain", "", ("x",), "", {"lr": 0.1, "api_key": "***"}) == trial.settings

    def test_several_trainings_in_one_script_are_runs_of_their_own(self, write, python, run_of):
        told = python(write(TRIALS))

        assert 0 == told.returncode, told.stderr
        runs = run_of("trial-")
        assert [{"lr": 0}, {"lr": 1}] == [dict(trial.settings.config) for trial in runs]
        assert [5, 5] == [len(trial.steps()) for trial in runs]

    def test_what_ends_the_script_is_noted(self, write, python, run_of):
        told = python(
            write("import stepwatch\nstepwatch.init('x')\ntrain(3)\nraise OSError('no')\n")
        )
        (trial,) = run_of("x")

        assert 1 == told.returncode
        assert "failed" == trial.state

    def test_without_a_run_nothing_is_done(self, write, python, tmp_path):
        told = python(
            write(
                "import stepwatch as s\ns.log({'a': 1})\ns.save_config({})\ns.finish()\n",
                "a.py",
                False,
            )
        )

        assert (0, "", "") == (told.returncode, told.stdout, told.stderr)
        assert not (tmp_path / "runs").exists()

    def test_a_wrong_option_is_an_error_before_training(self, write, python):
        told = python(write("import stepwatch\nstepwatch.init(rules='nosuch')\n", training=False))

        assert "no rule is named 'nosuch'" in told.stderr


class TestUnderRun:
    def test_they_belong_to_the_run_that_is_under_way(self, write, stepwatch, run_of, tmp_path):
        told = stepwatch("run", "--name", "whole", "--tag", "y", write(TRIALS))
        (trial,) = run_of("")

        assert 0 == told.returncode, told.stderr
        assert 10 == len(trial.steps())
        assert RunSettings("trial-1", "", ("y",), "", {"lr": 1}) == trial.settings
        assert "metric/mine" in trial.tensor_names()
