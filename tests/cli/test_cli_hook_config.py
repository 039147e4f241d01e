"""``stepwatch run --hook-config``: SageMaker's file says what is saved of a script as it is."""

from __future__ import annotations

import json

import pytest

from stepwatch import Trial
from stepwatch.formats.smdebug.layout import END_KEY
from stepwatch.model.steps import Mode
from tests.support.cli.commands import STEPWATCH, call

SCRIPT = """\
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
loss_of, optimizer = torch.nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(42):
    data = torch.randn(16, 4)
    if step == 30:
        data[3, 2] = torch.nan
    optimizer.zero_grad()
    loss_of(model(data), torch.ones(16, 1)).backward()
    optimizer.step()
print("trained")
"""
CONFIG = {
    "LocalPath": "out",
    "HookParameters": {"save_interval": "10"},
    "CollectionConfigurations": [
        {
            "CollectionName": "of_linear",
            "CollectionParameters": {
                "include_regex": "0.weight",
                "save_interval": "20",
                "start_step": "5",
                "reductions": "mean,l2",
            },
        }
    ],
}


@pytest.fixture(scope="module")
def configured(tmp_path_factory):
    """A run that a hook configuration describes, its folder and what the command said."""
    folder = tmp_path_factory.mktemp("configured")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "hook.json").write_text(json.dumps(CONFIG))
    told = call(STEPWATCH, "run", "--hook-config", "hook.json", "train.py", cwd=folder)
    return folder, told


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that another place is given for, and that its first finding stops."""
    folder = tmp_path_factory.mktemp("stopped")
    # Long enough for what is found beside the training to be found before its end.
    (folder / "train.py").write_text(SCRIPT.replace("range(42)", "range(20_000)"))
    (folder / "hook.json").write_text(json.dumps(CONFIG))
    options = ("--hook-config", "hook.json", "--run", "elsewhere", "--on-finding", "stop")
    return folder, call(STEPWATCH, "run", *options, "train.py", cwd=folder)


def named_in_environment(tmp_path, monkeypatch, document):
    """Write a script, and a hook configuration that the environment names."""
    (tmp_path / "script.py").write_text("print('ran')\n")
    (tmp_path / "hook.json").write_text(json.dumps(document))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))


class TestTheRun:
    def test_lies_where_the_file_says_in_the_smdebug_format(self, configured):
        """And ends as smdebug's do."""
        folder, told = configured

        assert (0, "trained\n", True) == (
            told.returncode,
            told.stdout,
            (folder / "out" / END_KEY).exists(),
        )

    def test_holds_the_steps_that_the_file_says(self, configured):
        """Losses by the hook's rhythm, the own collection by its own."""
        folder, _ = configured
        trial = Trial(folder / "out")

        assert ([0, 10, 20, 30, 40], [20, 40]) == (
            trial.tensor("MSELoss_output_0").steps(Mode.GLOBAL),
            trial.tensor("Sequential_0.weight").steps(Mode.GLOBAL),
        )

    def test_is_watched_as_any(self, configured):
        """A loss that is not finite is found."""
        _, told = configured

        assert "step 30 (non_finite_origin)\n" in told.stderr
        assert "    MSELoss_output_0 (NaN) is not finite" in told.stderr


class TestWhichFile:
    def test_the_one_that_the_environment_names_is_read(self, tmp_path, monkeypatch, refused):
        """Without an option; a mistake in it is told before anything is run."""
        named_in_environment(tmp_path, monkeypatch, {"HookParameters": {"save_interval": 0}})

        assert "HookParameters: save_interval must be at least 1" in refused("run", "script.py")

    def test_what_is_typed_counts_more(self, tmp_path, monkeypatch, stepwatch):
        """With ``--save`` the environment's file is not read."""
        named_in_environment(tmp_path, monkeypatch, {"HookParameters": {"save_interval": 0}})
        told = stepwatch("run", "--run", "r", "--save", "gradients:raw", "script.py")

        assert "ran\n" == told.stdout

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            (["--hook-config", "none.json"], "no hook configuration at none.json"),
            (
                ["--hook-config", "script.py", "--save", "losses"],
                "--hook-config and --save each say what to save",
            ),
            (["--hook-config", "script.py"], "script.py is no JSON"),
        ],
        ids=["missing", "both", "no JSON"],
    )
    def test_what_cannot_be_meant_is_told_before_the_script_runs(
        self, write, refused, arguments, reason
    ):
        """One line, and nothing is run."""
        write("print('ran')\n", training=False)

        assert reason in refused("run", *arguments, "script.py")


class TestWhere:
    @pytest.mark.parametrize("taken", [END_KEY, "run.json"])
    def test_not_over_another_run(self, tmp_path, monkeypatch, refused, taken):
        """A run that ended, or one of ours, stays as it is, and the script is not run."""
        named_in_environment(tmp_path, monkeypatch, {"LocalPath": str(tmp_path / "out")})
        (tmp_path / "out").mkdir()
        text = json.dumps({"format": "stepwatch", "version": 1}) if taken == "run.json" else ""
        (tmp_path / "out" / taken).write_text(text)

        assert "stepwatch" in refused("run", "script.py")

    def test_the_option_counts_more_than_the_file(self, stopped):
        """``--run`` takes the place of ``LocalPath``."""
        folder, _ = stopped

        assert (True, False) == ((folder / "elsewhere").exists(), (folder / "out").exists())

    def test_a_finding_can_stop_it(self, stopped):
        """Before the next step, with the status that says so."""
        folder, told = stopped

        assert (75, "stopped") == (told.returncode, Trial(folder / "elsewhere").state)
