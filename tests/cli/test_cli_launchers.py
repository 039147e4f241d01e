"""``stepwatch run LAUNCHER … train.py``: each process watches itself, and all write one run."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys

import pytest

from stepwatch.cli.launchers import find_launch
from stepwatch.trial import Trial
from tests.support.cli.commands import TRAINING

SCRIPT = """
import os
import torch.distributed
if int(os.environ.get("WORLD_SIZE", "1")) > 1:
    torch.distributed.init_process_group("gloo")
train(3)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A script in a folder of its own, and launchers on the path."""
    (tmp_path / "train.py").write_text(TRAINING + SCRIPT)
    torchrun = "from torch.distributed.run import main"
    for name, program in {
        "torchrun": torchrun,
        "accelerate": "",
        "deepspeed": "",
        "uv": "",
    }.items():
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!{sys.executable}\nimport sys\n{program}\nsys.exit(main())\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def launch(script):
    """Return a function that runs a command line: exit status, and what it prints to each."""

    def run(line):
        words = [sys.executable if word == "PYTHON" else word for word in shlex.split(line)]
        done = subprocess.run(
            words, cwd=script, capture_output=True, text=True, check=False, timeout=240
        )
        return done.returncode, done.stdout, done.stderr

    return run


class TestCommands:
    @pytest.mark.parametrize(
        ("given", "command"),
        [
            ("torchrun --nproc_per_node 2 train.py --lr 1",
             "torchrun --nproc_per_node 2 -m stepwatch run train.py --lr 1"),
            ("torchrun -m package.train --lr 1",
             "torchrun -m stepwatch run -m package.train --lr 1"),
            ("accelerate launch --config_file a.yaml train.py",
             "accelerate launch --config_file a.yaml -m stepwatch run train.py"),
            ("deepspeed --num_gpus 2 train.py --deepspeed c.json",
             "deepspeed --num_gpus 2 --module stepwatch run train.py --deepspeed c.json"),
            ("uv run --with x train.py", "uv run --with x python -m stepwatch run train.py"),
            ("uv run torchrun train.py", "uv run torchrun -m stepwatch run train.py"),
            ("env A=1 python3 -u train.py", "env A=1 python3 -u -m stepwatch run train.py"),
        ],
    )  # fmt: skip
    def test_the_script_is_run_watched_where_the_launcher_runs_it(self, script, given, command):
        """Its own arguments stay what they are, also where they look like ours."""
        assert command.split() == find_launch(given.split()).command()

    def test_a_script_is_no_launcher(self, script):
        assert find_launch(["train.py", "python"]) is None

    def test_what_names_no_script_is_refused(self, refused, script):
        """Before anything is started."""
        assert "torchrun --nproc_per_node 2 … names no script" in refused(
            "run", "torchrun", "--nproc_per_node", "2", "gone.py"
        )

    def test_a_python_without_stepwatch_is_refused(self, refused, script):
        """As one beside the environment in which the command is; -S leaves packages out."""
        bare = script / "bin" / "python3.99"
        bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        bare.chmod(0o755)

        message = refused("run", "python3.99", "train.py")
        assert f"{bare} has no stepwatch" in message


@pytest.mark.slow
class TestLaunchers:
    @pytest.mark.parametrize(
        "line",
        [
            "PYTHON -m stepwatch run -o out torchrun --standalone --nproc_per_node 2 train.py",
            "torchrun --standalone --nproc_per_node 2 -m stepwatch run -o out train.py",
        ],
    )
    def test_the_ranks_of_torchrun_write_one_run(self, launch, script, line):
        """And each line is printed once."""
        status, out, err = launch(line)
        trial = Trial(script / "out")

        assert 0 == status, err
        assert ("finished", ("worker_0", "worker_1")) == (trial.state, trial.workers)
        assert [0, 1, 2] == trial.steps("TRAIN")
        assert 2 == out.count("step 2 loss")
        assert 1 == err.count("capturing ")
        assert 1 == err.count("look at it with")

    def test_a_python_runs_the_script_with_the_options_of_ours(self, launch, script):
        """The same Python in this process, another in its own; the exit status is the script's."""
        with (script / "train.py").open("a") as file:
            file.write("sys.exit(int(sys.argv[1]))\n")
        first = launch("PYTHON -m stepwatch run -q --run a PYTHON train.py 3")
        second = launch(
            "PYTHON -m stepwatch run -q --rules none --run b env X=1 PYTHON -u train.py 4"
        )

        assert (3, 4) == (first[0], second[0]), second[2]
        assert ("failed", 3) == (Trial(script / "a").state, len(Trial(script / "b").steps()))
        assert ["train.py", "4"] == json.loads((script / "b/run.json").read_text())["command"]

    def test_the_rank_that_deepspeed_gives_a_script_reaches_it(self, launch, script):
        """It puts it before all that follows the module: ``-m stepwatch --local_rank=1 run …``."""
        with (script / "train.py").open("a") as file:
            file.write("print('given:', sys.argv[1:])\n")
        status, out, err = launch("PYTHON -m stepwatch --local_rank=1 run -o d train.py --lr 2")

        assert 0 == status, err
        assert "given: ['--local_rank=1', '--lr', '2']" in out

    def test_options_are_left_to_no_further_process(self, launch, script):
        """What a watched script starts is not told where to write."""
        text = "import os\nprint('left:', os.environ.get('STEPWATCH_RUN_OPTIONS'))\n"
        (script / "train.py").write_text(text)
        _, out, err = launch("PYTHON -m stepwatch run --run c env X=1 PYTHON train.py")

        assert "left: None" in out, err
