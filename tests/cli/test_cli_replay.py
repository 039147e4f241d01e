"""``stepwatch replay``: a step of a script is run again, and what came of it is told."""

from __future__ import annotations

import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from stepwatch import Trial
from tests.support.cli.commands import STEPWATCH, call

DEMO = Path(__file__).parents[2] / "demo" / "char_gpt.py"
BROKEN = b"1 / 0\n"
SCRIPT = """\
import os, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(os.getpid())  # nothing is the same the second time
data = TensorDataset(torch.randn(64, 8), torch.randint(3, (64,)))
scale = float(open("scale").read()) if os.path.exists("scale") else 1.0

class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * scale

class Skipped(nn.Identity):
    def __call__(self, x):
        return x if os.path.exists("skip") else super().__call__(x)

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), Scaled(16, 3), Skipped())
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step, (inputs, targets) in enumerate(DataLoader(data, batch_size=4, shuffle=True)):
    optimizer.zero_grad()
    nn.CrossEntropyLoss()(model(inputs), targets).backward()
    optimizer.step()
    print("trained", step, flush=True)
    if step == 9:
        with torch.no_grad():
            model(inputs)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a script and its run: 16 TRAIN steps, and an evaluation after the tenth."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(SCRIPT)
    options = ("--run", "run", "--snapshot", "every=4", "--black-box", "4", "--rules", "none")
    done = call(STEPWATCH, "run", *options, "train.py", cwd=folder)
    assert (0, "trained 15") == (done.returncode, done.stdout.splitlines()[-1])
    return folder


@pytest.fixture
def own(recorded, tmp_path):
    """A copy of that folder, whose run says that it ran there."""
    folder = tmp_path / "own"
    shutil.copytree(recorded, folder)
    change(folder, folder=str(folder))
    return folder


def change(place, /, **facts):
    """Change what ``run.json`` says."""
    path = place / "run/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def replay(folder, *arguments, run="run", trust=True):
    options = ("--trust",) if trust else ()
    return call(STEPWATCH, "replay", run, *options, *arguments, cwd=folder)


class TestTrust:
    def test_who_made_a_run_is_not_asked(self, recorded):
        """It is known by what was noted outside of the run."""
        done = replay(recorded, "--step", "15", trust=False)
        assert (0, "") == (done.returncode, done.stderr)

    @pytest.mark.slow
    @pytest.mark.parametrize("fact", ["folder", "command", "script_sha256", "run_id"])
    def test_the_program_of_a_stranger_is_shown_and_not_run(self, recorded, own, fact):
        """Whatever of it is another than was noted."""
        changed = {"command": ["train.py", "--now"], "folder": str(own)}
        change(own, **{"folder": str(recorded), fact: changed.get(fact, "0" * 64)})
        done = replay(own, "--step", "15", trust=False)

        assert (2, "") == (done.returncode, done.stdout)
        assert "program   train.py" in done.stderr
        assert done.stderr.endswith(
            "stepwatch: nothing was run; look at the program, and if you trust it: --trust\n"
        )

    @pytest.mark.slow
    def test_what_was_trusted_once_is_known(self, own):
        """As if it had been made here."""
        assert 0 == replay(own, "--step", "15").returncode
        assert 0 == replay(own, "--step", "15", trust=False).returncode

    @pytest.mark.slow
    def test_a_secret_among_the_arguments_is_not_recorded(self, tmp_path):
        """It is said so, and replay says why it cannot run the program."""
        (tmp_path / "train.py").write_text(SCRIPT)
        options = ("--run", "run", "--snapshot", "every=4", "--rules", "none")
        made = call(STEPWATCH, "run", *options, "train.py", "--api-key", "xyzzy", cwd=tmp_path)
        done = replay(tmp_path, "--step", "15")

        assert "1 argument looks like a secret, and is recorded as ***" in made.stderr
        assert "xyzzy" not in (tmp_path / "run/run.json").read_text()
        assert 2 == done.returncode
        assert "an argument of the program was a secret" in done.stderr


class TestReproduced:
    def test_a_step_behind_a_snapshot(self, recorded):
        """TRAIN steps are counted, past the evaluation; it is run from 12 to there, no further."""
        done = replay(recorded, "--step", "14")

        assert (0, "") == (done.returncode, done.stderr)
        script, (verdict, place) = done.stdout.splitlines()[:-2], done.stdout.splitlines()[-2:]
        assert ["trained 0", "trained 1"] == script
        assert verdict.startswith("TRAIN step 14 was reproduced: ")
        assert verdict.endswith(" with the same statistics")
        assert place.endswith("run/replay-14")

    @pytest.mark.slow
    def test_it_is_written_whole_and_the_run_stays_as_it_is(self, own):
        """Full values of everything, under the numbers of the recorded step; it may be repeated."""
        before = Trial(own / "run")
        for _ in range(2):
            assert 0 == replay(own, "--step", "11", "--quiet").returncode
        again, after = Trial(own / "run/replay-11"), Trial(own / "run")

        assert ([12], [11]) == (again.steps(), again.steps("TRAIN"))
        assert all(again.tensor(name).value(12) is not None for name in again.tensor_names())
        assert (before.steps(), before.tensor_names()) == (after.steps(), after.tensor_names())

    @pytest.mark.slow
    def test_quiet_hides_what_the_script_prints(self, recorded, tmp_path):
        """The verdict is still told."""
        done = replay(recorded, "--step", "4", "--quiet", "--to", tmp_path / "there")

        assert "" == done.stderr
        assert 2 == len(done.stdout.splitlines())
        assert [4] == Trial(tmp_path / "there").steps()

    def test_json_stands_alone(self, recorded):
        """What the script prints is on standard error."""
        done = replay(recorded, "--step", "5", "--json")
        told = json.loads(done.stdout)

        assert ("same statistics", 5, 5) == (told["outcome"], told["step"], told["mode_step"])
        assert {"same statistics"} == {
            tensor["outcome"] for tensor in told["tensors"] if tensor["by"] == "statistics"
        }
        assert ["trained 0"] == done.stderr.splitlines()

    @pytest.mark.slow
    def test_the_demo_gpt(self, tmp_path):
        """Targets inside of the model, clipping, a schedule, evaluations, two parameter groups."""
        size = ("--steps", "12", "--layers", "1", "--d-model", "32", "--eval-every", "5")
        options = ("--run", "run", "--snapshot", "every=5", "--save", "gradients:raw", "-q")
        call(STEPWATCH, "run", *options, DEMO, *size, "--batch", "4", cwd=tmp_path)
        last = Trial(tmp_path / "run").steps("TRAIN")[-1]
        done = replay(tmp_path, "--step", last, "--quiet", "--json")
        told = json.loads(done.stdout)

        assert (0, "same statistics", 11) == (done.returncode, told["outcome"], told["mode_step"])
        assert {"value", "statistics"} <= {tensor["by"] for tensor in told["tensors"]}

    @pytest.mark.slow
    def test_a_script_with_a_hook_of_its_own(self, tmp_path):
        """It is imported before torch, its run is not written to, and nothing is refused."""
        text = SCRIPT.replace(
            "import os, torch", "from stepwatch import TorchHook\nimport os, torch"
        )
        hook = 'TorchHook(model, run="run", snapshot_every=4, black_box_mb=4)\nfor step'
        (tmp_path / "train.py").write_text(text.replace("for step", hook))
        assert 0 == call(sys.executable, "train.py", cwd=tmp_path).returncode
        before = sorted(tmp_path.rglob("observations/**/*.parquet"))
        done = replay(tmp_path, "--step", "6", "--to", "again")

        assert (0, "") == (done.returncode, done.stderr)
        assert "was reproduced: 1 tensor bit for bit, " in done.stdout
        assert before == sorted((tmp_path / "run").rglob("observations/**/*.parquet"))


class TestNotReproduced:
    def test_the_first_tensor_that_differs_is_named(self, own):
        """Something that the script reads is another; what comes before it is the same."""
        (own / "scale").write_text("1.5")
        done = replay(own, "--step", "8", "--quiet")
        verdict, why, _, first, *_ = done.stdout.splitlines()

        assert (1, "") == (done.returncode, done.stderr)
        assert verdict.endswith("tensors differ, the first is output/3")
        assert "run it again to see whether it repeats" in why
        assert ["output/3", "differs", "statistics"] == first.split()[:3]

    @pytest.mark.slow
    def test_what_did_not_come_back_was_not_reproduced(self, own):
        """However alike the rest is: a module that ran is passed over now."""
        (own / "skip").touch()
        done = replay(own, "--step", "8", "--quiet")
        verdict, *notes = done.stdout.splitlines()

        assert (1, "") == (done.returncode, done.stderr)
        assert verdict.endswith("1 recorded tensors did not come back, the first is output/4")
        assert "not seen again: 1 recorded tensors, such as output/4" in notes[0]

    @pytest.mark.slow
    def test_a_difference_in_the_last_digits_is_within_tolerance(self, own):
        """It counts as reproduced, and says that it is not bit for bit."""
        (own / "scale").write_text("1.0000005")
        done = replay(own, "--step", "8", "--quiet")

        assert 0 == done.returncode
        assert "TRAIN step 8 was reproduced within tolerance" in done.stdout


class TestCannot:
    @pytest.mark.parametrize(
        ("number", "facts", "why"),
        [
            (99, {}, "TRAIN step 99 was not recorded; there are 0-15"),
            (3, {"num_workers": 4}, "has nothing of worker_1"),
        ],
    )
    def test_it_says_why_in_one_line(self, own, refused, number, facts, why):
        """And nothing is left behind."""
        change(own, **facts)

        assert why in refused("replay", own / "run", "--step", number)
        assert not (own / f"run/replay-{number}").exists()

    @pytest.mark.parametrize(
        ("facts", "why"),
        [
            ({"script_sha256": "0" * 64}, "train.py is not what it was when it ran"),
            pytest.param({"command": ["gone.py"]}, "no script at gone.py", marks=pytest.mark.slow),
            pytest.param(
                {"folder": "/nowhere"},
                "the script ran in /nowhere: No such file",
                marks=pytest.mark.slow,
            ),
            pytest.param(
                {"command": ["broken.py"], "script_sha256": sha256(BROKEN).hexdigest()},
                "broken.py did not come to the end of the step: it ended by ZeroDivisionError",
                marks=pytest.mark.slow,
            ),
        ],
    )
    def test_a_script_that_cannot_be_run_again_is_told_in_one_line(self, own, facts, why):
        """And nothing is compared, or left behind."""
        (own / "broken.py").write_bytes(BROKEN)
        change(own, **facts)
        done = replay(own, "--step", "3")

        assert (2, "") == (done.returncode, done.stdout)
        assert 1 == len(done.stderr.splitlines())
        assert why in done.stderr
        assert not (own / "run/replay-3/run.json").exists()

    def test_without_a_black_box_it_says_how_to_get_one(self, own, refused):
        """A run that ended well has none unless it takes snapshots."""
        shutil.rmtree(own / "run/blackbox")

        told = refused("replay", own / "run", "--step", 3)

        assert "stepwatch run --snapshot every=K" in told

    def test_a_place_that_holds_a_run_is_left_alone(self, recorded, refused):
        """``--to`` overwrites nothing."""
        run = recorded / "run"

        assert "run already holds a run" in refused("replay", run, "--step", 3, "--to", run)
