"""``stepwatch blackbox``: what a training did last, told also where it had stored nothing."""

from __future__ import annotations

import json
import shutil
import signal
import socket
from contextlib import suppress

import pytest
from click.testing import CliRunner

from stepwatch.cli.blackbox import blackbox
from stepwatch.cli.main import main
from stepwatch.cli.run import run
from stepwatch.errors import ConfigError, TensorUnavailable
from stepwatch.formats.blackbox import SNAPSHOT_FRAME, read_frames
from stepwatch.store import open_store
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from tests.support.cli.commands import STEPWATCH, TRAINING, call

KILLED = """
import os, signal
from stepwatch.formats.native.writer import NativeWriter

NativeWriter.write = lambda *_: None  # nothing but what the run is comes to the store

def kill():
    import gc
    from stepwatch.hooks.torch import TorchHook
    hook = next(one for one in gc.get_objects() if type(one) is TorchHook)
    hook.recorder.flush()
    os.kill(os.getpid(), signal.SIGKILL)

train(8, spoiled=3, then=kill)
"""


EVALUATED = """
import torch
from torch.nn.functional import mse_loss

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(2):
    model.train()
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        mse_loss(model(x), y)
raise RuntimeError("enough")
"""


#: The process of a run, as one of this machine that is gone.
GONE = {"host": socket.gethostname(), "pid": 2**22 + 1, "process": "gone"}


def ask(*arguments):
    done = CliRunner().invoke(blackbox, [str(one) for one in arguments])
    if done.exception is not None:
        raise done.exception
    return done.output


def ask_json(*arguments):
    return json.loads(ask(*arguments, "--json"))


@pytest.fixture(scope="module")
def spoiled_run(spoiled, tmp_path_factory):
    """A copy of the run whose data become nan in step 5."""
    copy = tmp_path_factory.mktemp("copy") / "run"
    shutil.copytree(spoiled[0] / "run", copy)
    return copy


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run that was killed after three steps and had stored nothing but ``run.json``."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "train.py").write_text(TRAINING + KILLED)
    alone = ("run", "--no-companion", "--run", "run")  # nobody is left to store anything
    done = call(STEPWATCH, *alone, "train.py", cwd=folder)
    assert -signal.SIGKILL == done.returncode, done.stderr
    return folder / "run"


class TestKilled:
    def test_its_last_steps_are_told(self, killed):
        """State, steps and numbers; a trial has the steps from there, too."""
        trial = Trial(killed)
        assert ([0, 1, 2], 3) == (trial.steps(), trial.num_salvaged)
        told = ask_json(killed)

        assert "died" == told["state"]
        assert [0, 1, 2] == [step["step"] for step in told["steps"]]
        assert all(step["recorded"] and step["loss"] > 0 for step in told["steps"])
        assert [0.01] * 3 == [step["learning_rate"] for step in told["steps"]]
        assert all(step["gradient_norm"] > 0 for step in told["steps"])
        befores = [step["before_end_s"] for step in told["steps"]]
        assert sorted(befores, reverse=True) == befores

    def test_batches_are_told_by_shape_and_digest(self, killed):
        """The same batch has the same digest."""
        batches = [step["batch"] for step in ask_json(killed)["steps"]]

        assert [[16, 4]] * 3 == [batch[0]["shape"] for batch in batches]
        assert 1 == len({batch[0]["digest"] for batch in batches})

    def test_people_get_a_table(self, killed):
        """With one line for each step."""
        told = ask(killed)

        assert "state      died" in told
        assert "last step  2" in told
        assert ["0", "1", "2"] == [line.split()[0] for line in told.splitlines() if " s " in line]

    @pytest.mark.parametrize("arguments", [("show",), ("replay", "--step", "1")])
    def test_whoever_finds_nothing_else_is_sent_to_it(self, killed, capsys, arguments):
        """By the line that can be typed."""
        verb, *options = arguments
        with suppress(SystemExit):
            main([verb, str(killed), *options])

        assert "stepwatch blackbox " in "".join(capsys.readouterr())

    def test_only_so_many_steps(self, killed):
        """The last ones."""
        assert [1, 2] == [step["step"] for step in ask_json(killed, "--steps", 2)["steps"]]


class TestSpoiled:
    def test_what_was_not_finite_first_is_told(self, spoiled_run):
        """In the order of execution, also where it lies before the steps that are shown."""
        told = ask(spoiled_run, "--steps", 1)

        assert "not finite first, in step 5" in told
        assert told.index("output/0 ") < told.index("output/1 ")

    def test_triggers_snapshots_and_dumps_are_told(self, spoiled_run):
        """Why, of which step, and where."""
        told = ask_json(spoiled_run)

        assert [5] == [one["step"] for one in told["snapshots"]]
        assert "nan" == told["steps"][-1]["loss"]  # JSON has no such number
        assert "non-finite loss" == told["triggers"][0]["reason"]
        assert ["blackbox/worker_0/5-non-finite-loss.frames"] == told["dumps"]

    def test_one_tensor_is_told_step_by_step(self, spoiled_run):
        """By its name or a regular expression."""
        told = ask_json(spoiled_run, "--tensor", "0.weight")["tensors"]["0.weight"]

        assert [False] * 6 + [True] * 2 == [told[str(step)]["non_finite"] > 0 for step in range(8)]
        assert "gradient/2.bias" in ask(spoiled_run, "--tensor", "^gradient/")

    @pytest.mark.slow
    def test_steps_are_counted_as_training_counts(self, stepwatch, write, tmp_path):
        """Those of evaluations between them are none of its own."""
        write(EVALUATED, training=False)
        stepwatch("run", "--run", "r", "--rules", "none", "script.py")
        lines = ask(tmp_path / "r", "--tensor", "loss/").splitlines()

        steps = [line.split("  ")[0] for line in lines[2:]]
        assert ["0", "eval 0, after step 0", "1", "eval 1, after step 1"] == steps

    def test_an_unknown_tensor_is_an_error_that_names_the_nearest(self, spoiled_run):
        """As everywhere."""
        with pytest.raises(KeyError, match="did you mean"):
            ask(spoiled_run, "--tensor", "0.wieght")


class TestNone:
    def test_a_run_without_one_says_so_in_one_line(self, tmp_path):
        """And why, if it ended well."""
        url = make_run(tmp_path / "run")

        assert (
            f"no black box in {tmp_path / 'run'}; the run ended well and nothing was found\n"
            == ask(url)
        )

    @pytest.mark.parametrize(
        ("state", "why"),
        [("died", "the run died without one"), ("stopped", "the run was stopped without one")],
    )
    def test_a_run_that_did_not_end_well_had_none(self, tmp_path, state, why):
        """Nobody is told that all was well."""
        make_run(tmp_path / "run")
        end = tmp_path / "run/end/worker_0.json"
        note = json.loads(end.read_text())
        end.unlink()
        if state != "died":
            end.write_text(json.dumps(note | {"state": state}))
        about = tmp_path / "run/run.json"
        about.write_text(json.dumps(json.loads(about.read_text()) | GONE))

        assert state == Trial(tmp_path / "run").state
        assert f"{why}, as with --black-box 0" in ask(tmp_path / "run")
        with pytest.raises(SystemExit):
            main(["replay", str(tmp_path / "run"), "--step", "1"])

    def test_an_unknown_worker_is_told_who_there_is(self, spoiled_run):
        """In one line."""
        with pytest.raises(TensorUnavailable, match=r"there are worker_0$"):
            ask(spoiled_run, "--worker", "worker_7")

    @pytest.mark.slow
    def test_it_can_be_switched_off(self, stepwatch, write):
        """Nothing of it is there then."""
        write("train(2)")
        done = stepwatch("run", "--black-box", 0, "--run", "run", "script.py")

        assert 0 == done.returncode
        assert not [key for key in open_store(write("").parent / "run").list() if "black" in key]


class TestSnapshots:
    @pytest.mark.slow
    def test_they_are_kept_as_often_as_asked(self, stepwatch, write, tmp_path):
        """Also of a run that ends well."""
        write("train(5)")
        stepwatch("run", "--snapshot", "every=2", "--run", "run", "script.py")
        frames = read_frames(open_store(tmp_path / "run"))

        assert [0, 2, 4] == [frame.mode_step for frame in frames if frame.kind == SNAPSHOT_FRAME]

    @pytest.mark.parametrize("wrong", ["2", "every=0", "every=x", "first=2"])
    def test_what_cannot_be_meant_is_refused(self, wrong):
        """Before the script is looked for."""
        done = CliRunner().invoke(run, ["--snapshot", wrong, "nosuch.py"])

        assert isinstance(done.exception, ConfigError)
        assert "is not every=K" in str(done.exception)
