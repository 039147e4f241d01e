"""``--on-finding``: what is done about a finding, in the training and from another process."""

from __future__ import annotations

import json

import pytest

from stepwatch import Trial
from tests.support.cli.commands import STEPWATCH, call

#: Trains with a batch that holds a nan, and prints whether all weights are numbers in the end. Its
#: steps go on long enough for the nan to be found while a busy machine has little time for it.
SCRIPT = """\
import torch
from torch.nn.functional import mse_loss

torch.manual_seed(0)
torch.set_num_threads(1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(1500):
    data = x.clone()
    if step == 30:
        data[3, 2] = torch.nan
    optimizer.zero_grad()
    loss = mse_loss(model(data), y)
    loss.backward()
    try:
        optimizer.step()
    except RuntimeError as error:
        print(type(error).__name__)
        break
print(bool(torch.isfinite(loss)) and all(bool(p.isfinite().all()) for p in model.parameters()))
"""


@pytest.fixture(scope="module")
def restored(tmp_path_factory):
    """A run that was restored after a nan, and what the command said."""
    folder = tmp_path_factory.mktemp("restored")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "policy.json").write_text(json.dumps([{"action": "restore", "every": 5}]))
    options = ("--run", "run", "--on-finding", "policy.json")
    return folder, call(STEPWATCH, "run", *options, "train.py", cwd=folder)


class TestRun:
    def test_a_training_with_a_nan_goes_on_from_a_restored_state(self, restored):
        """And ends well."""
        folder, told = restored

        assert (0, "True\n") == (told.returncode, told.stdout)
        assert "stepwatch: restore: after step" in told.stderr
        assert 1500 == len(Trial(folder / "run").steps())

    @pytest.mark.slow
    def test_a_training_skips_a_batch_with_a_nan(self, write, stepwatch):
        script = write(SCRIPT, training=False)
        told = stepwatch("run", "--run", "r", "--on-finding", "skip-batch", script)

        assert (0, "True\n") == (told.returncode, told.stdout)
        assert "step 30 skip_batch: the gradients are not finite" in told.stderr

    def test_without_it_the_training_is_lost(self, write, python):
        """Else the two tests before would show nothing."""
        assert "False\n" == python(write(SCRIPT, training=False)).stdout

    @pytest.mark.slow
    def test_a_finding_may_be_raised_into_the_training(self, write, stepwatch, tmp_path):
        """Where it is an error that may be caught."""
        script = write(SCRIPT, training=False)
        told = stepwatch("run", "--run", "r", "--on-finding", "raise", script)

        assert (0, "FindingRaised\nFalse\n") == (told.returncode, told.stdout)
        assert "finished" == Trial(tmp_path / "r").state

    @pytest.mark.slow
    def test_showing_is_silent_about_what_was_told_not_to_be_shown(self, write, stepwatch):
        """``warn`` with terms takes the place of the one that is always there."""
        script = write("train(8, spoiled=3)\n")
        told = stepwatch("run", "-q", "--run", "r", "--on-finding", "warn:rules=overfit", script)

        assert (0, "") == (told.returncode, told.stderr)


class TestShow:
    def test_what_was_done_stands_below_the_findings(self, restored):
        """A line for each; that findings were shown is not told."""
        shown = call(STEPWATCH, "show", "run", cwd=restored[0]).stdout

        assert "restore done after step" in shown
        assert "warn done" not in shown
        told = json.loads(call(STEPWATCH, "show", "run", "--json", cwd=restored[0]).stdout)
        assert "restore" in {note["action"] for note in told["actions"]}


class TestWatch:
    @pytest.mark.slow
    def test_what_needs_no_training_is_done_from_outside_and_once(self, spoiled):
        """What needs it says so; a second watcher does not do again what was done."""
        folder, _, _ = spoiled
        (folder / "mine.py").write_text("def act(finding):\n    print('called', finding.rule)\n")
        policy = "restore; callback:python=mine.py:act,rules=non_finite*,at_most=1"

        first = call(STEPWATCH, "watch", "run", "--on-finding", policy, cwd=folder)
        second = call(STEPWATCH, "watch", "run", "--on-finding", policy, cwd=folder)

        assert 1 == first.stdout.count("called non_finite_origin")
        assert "called" not in second.stdout
        assert "restore failed: it needs the training itself" in first.stdout
        assert "callback done called act" in call(STEPWATCH, "show", "run", cwd=folder).stdout
