"""``stepwatch run``: the script is as it was, and what goes wrong is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from stepwatch import Trial
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, TRAINING, call, environment

FACTS = """\
import os, pickle, sys, multiprocessing, inspect

class Mine:
    pass

def double(number):
    return 2 * number

if __name__ == "__main__":
    print(sys.argv, __name__, __file__, sys.path[0], __spec__ is None, __package__)
    print(sorted(globals()), type(__builtins__), type(__loader__))
    print(sys.modules["__main__"].__dict__ is globals())
    print(type(pickle.loads(pickle.dumps(Mine()))), inspect.getsource(Mine))
    print(os.path.exists("runs"), os.getcwd())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2, 3]))
    if os.fork() == 0:
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """A script that looks for torch before it imports it, and fails after two steps; its folder."""
    folder = tmp_path_factory.mktemp("failed")
    (folder / "train.py").write_text(
        "import importlib.util\nassert importlib.util.find_spec('torch')\n"
        + TRAINING
        + "train(2)\nraise RuntimeError('the data ran out')\n"
    )
    return folder, call(STEPWATCH, "run", "--run", "r", "train.py", cwd=folder)


def lines_of_ours(result):
    return [line for line in result.stderr.splitlines() if line.startswith("stepwatch:")]


class TestTheScript:
    def test_its_output_is_what_it_was(self, spoiled):
        """Every byte, however much was found in it."""
        _, plain, watched = spoiled

        assert "step 7 loss nan" in plain.stdout
        assert (plain.stdout, plain.returncode) == (watched.stdout, watched.returncode)

    @pytest.mark.slow
    def test_it_finds_itself_as_under_python(self, write, new_stepwatch, new_python):
        """argv, names, paths, pickles, spawned and forked children; and it used no framework."""
        write(FACTS, "deep/er/facts.py", training=False)

        expected = new_python("deep/er/facts.py", "a", "--b", "-h")
        found = new_stepwatch("run", "--run", "r", "deep/er/facts.py", "a", "--b", "-h")

        assert (0, "") == (expected.returncode, expected.stderr)
        assert expected.stdout == found.stdout
        (told,) = found.stderr.splitlines()
        assert told.startswith("stepwatch: the script trained with none of catboost, jax, ")
        assert told.endswith(": there was nothing to see")

    def test_a_module_is_run_as_by_python(self, write, new_stepwatch, new_python):
        """``-m`` finds it from here; its argv[0] is its path."""
        text = "import sys\nfrom . import sibling\nprint(sys.argv, __name__, __spec__.name)\n"
        write(text, "package/tool.py", training=False)
        write("print('sibling')\n", "package/sibling.py", training=False)
        write("", "package/__init__.py", training=False)

        assert new_python("-m", "package.tool", "x").stdout == (
            new_stepwatch("run", "-m", "package.tool", "x").stdout
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        [
            "import sys; sys.exit(3)",
            "import sys; sys.exit('no such luck')",
            "def inner():\n    raise ValueError('a\\nb')\ninner()",
            "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError(7) from error",
            "for broken in syntax\n    pass",
            "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
            "import logging; logging.getLogger('mine').warning('told as ever')",
        ],
        ids=["status", "text", "error", "cause", "syntax", "SIGINT", "SIGTERM", "logging"],
    )
    def test_it_ends_as_under_python(self, write, new_stepwatch, new_python, text):
        """Status, signal and traceback, in which no frame of ours appears."""
        script = write(text, training=False)

        expected, found = new_python(script.name), new_stepwatch("run", script.name)

        assert expected.returncode == found.returncode
        told = [line for line in found.stderr.splitlines() if not line.startswith("stepwatch: ")]
        assert expected.stderr.splitlines() == told

    def test_how_it_ended_is_noted(self, failed):
        """A failure with its error."""
        folder, result = failed

        assert 1 == result.returncode
        assert "failed" == Trial(folder / "r").state
        assert "stepwatch: Failed after step 1: RuntimeError: the data ran out" in result.stderr

    @pytest.mark.parametrize(
        ("number", "state"),
        [
            (signal.SIGINT, "interrupted"),
            pytest.param(signal.SIGTERM, "died", marks=pytest.mark.slow),
        ],
    )
    def test_a_signal_in_training_ends_it_as_ever(self, write, tmp_path, number, state):
        """By the very signal; Ctrl-C is noted, of SIGTERM nobody is left to tell."""
        script = write("import signal\ntrain(3)\nprint('ready', flush=True)\nsignal.pause()\n")
        process = fork_server.Popen(
            [STEPWATCH, "run", "--run", "r", script], cwd=tmp_path, env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert any(line == "ready\n" for line in process.stdout)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)

        assert -number == process.returncode
        assert state == Trial(tmp_path / "r").state
        assert (number == signal.SIGINT) == ("KeyboardInterrupt" in told)

    def test_asking_for_torch_is_not_importing_it(self, failed):
        """As transformers does before it imports torch; the hook still comes in time."""
        _, result = failed

        assert "stepwatch: failed, 2 steps (2 TRAIN)" in result.stderr

    @pytest.mark.slow
    def test_it_does_not_end_where_nobody_hears_what_we_say(self, write, python, tmp_path):
        """Standard error may be closed."""
        script = write("train(3)\n")
        command = f"{STEPWATCH} run --run r {script} 2>&-; echo status $?"
        closed = subprocess.run(command, shell=True, cwd=tmp_path, env=environment(),
                                capture_output=True, text=True, timeout=60)  # fmt: skip

        assert [*python(script).stdout.splitlines(), "status 0"] == closed.stdout.splitlines()
        assert "finished" == Trial(tmp_path / "r").state

    def test_it_does_not_end_with_whoever_reads_what_we_say(self, write, spoiled, tmp_path):
        """Standard error may be a pipe whose reader went away."""
        _, plain, _ = spoiled
        script = write("train(3)\n")
        reader, writer = os.pipe()
        os.close(reader)
        broken = fork_server.run([STEPWATCH, "run", "--run", "r", script], cwd=tmp_path,
                                 env=environment(), stdout=subprocess.PIPE,
                                 stderr=writer, text=True, timeout=60)  # fmt: skip
        os.close(writer)

        assert (0, plain.stdout.splitlines()[:3]) == (
            broken.returncode,
            broken.stdout.splitlines(),
        )
        assert "finished" == Trial(tmp_path / "r").state


# Parts are written, and merged, all the time; what is loaded is known once all is over.
IMPORTS = """\
import atexit
from stepwatch.capture import profiling
from stepwatch.formats import interface
from stepwatch.formats.native import writer

interface.FAN_IN, writer.GATHER_ROWS, profiling.GATHER_S = 3, 40, 0.0
HEAVY = ("pandas", "pyarrow.compute", "pyarrow.dataset", "rich")
atexit.register(lambda: print("loaded:", [name for name in HEAVY if name in sys.modules]))
train(300)
"""


class TestWhatItLoads:
    @pytest.mark.slow
    def test_a_training_is_recorded_without_pandas(self, write, new_stepwatch, tmp_path):
        """Its import stops the training for a third of a second, and its memory is the script's."""
        pytest.importorskip("pandas")
        write(IMPORTS)

        done = new_stepwatch("run", "--run", "r", "--budget", "none", "script.py")

        assert "loaded: []" == done.stdout.splitlines()[-1], done.stderr
        trial = Trial(tmp_path / "r")
        assert 300 == len(trial.steps())
        for parts in ("observations", "profile/spans"):  # the others were merged
            assert len([*tmp_path.glob(f"r/{parts}/*/*.parquet")]) < 20
        assert (tmp_path / "r/findings/worker_0.statuses.json").exists()


class TestBudget:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("options", "is_kept"),
        [
            ((), True),
            (("--budget", "none"), False),
            (("--snapshot", "every=2"), False),
            (("--snapshot", "every=2", "--budget", "3%"), True),
        ],
    )
    def test_there_is_one_unless_a_replay_needs_every_step(
        self, write, stepwatch, options, is_kept
    ):
        """The note at the end says what observing cost, where there is a budget."""
        write("train(4)\n")
        stepwatch("run", "--run", "r", *options, "script.py")
        note = (write("").parent / "r/end/worker_0.json").read_text()

        assert is_kept is (json.loads(note)["cost_s"] is not None)


class TestWhatIsTold:
    def test_coverage_findings_and_a_summary(self, spoiled):
        """A finding once, when it happens, with what to do; at the end how it went."""
        folder, _, watched = spoiled
        told = [line for line in lines_of_ours(watched) if "/s  loss" not in line]

        assert "stepwatch: capturing 4 of 4 parameters, 4 of 4 outputs" == told[0]
        heading = "First value that is not finite, step 5 (non_finite_origin)"
        assert f"stepwatch: {heading}" == told[1]
        assert told[2].startswith("stepwatch:     loss is NaN from step 5; ")
        assert 2 == sum("the data are not finite" in line for line in told), "live and at the end"
        assert any(line.startswith("stepwatch: finished, 8 steps (8 TRAIN)") for line in told)
        assert "stepwatch: look at it with: stepwatch show run" == told[-1]
        assert lines_of_ours(watched) == watched.stderr.splitlines()
        # As was asked for, and the step that went wrong.
        assert [0, 3, 5, 6] == sorted(Trial(folder / "run").tensor("gradient/0.weight").values())

    def test_a_finding_may_stop_the_training(self, write, stepwatch, tmp_path):
        """Not as an error that is caught; what is in ``finally`` still runs."""
        script = write(
            "try:\n"
            "    try:\n"
            "        train(10**6, spoiled=3)\n"
            "    except Exception:\n"
            "        print('caught')\n"
            "finally:\n"
            "    print('saved')\n"
        )
        result = stepwatch("run", "--run", "r", "--on-finding", "stop", script)

        assert 75 == result.returncode
        assert "saved" == result.stdout.splitlines()[-1]
        assert "caught" not in result.stdout
        assert "stopped" == Trial(tmp_path / "r").state
        assert "Traceback" not in result.stderr

    def test_no_rules_find_nothing(self, write, stepwatch, tmp_path):
        """``--rules none`` captures all the same; ``--quiet`` then says nothing at all."""
        script = write("train(4, spoiled=1)\n")
        result = stepwatch("run", "--quiet", "--rules", "none", "--run", "r", script)

        assert (0, "") == (result.returncode, result.stderr)
        assert 4 == len(Trial(tmp_path / "r").steps())

    def test_a_rule_that_raises_is_told_and_training_goes_on(self, write, tmp_path):
        """Once, with its traceback; the other rules go on looking.

        What a script makes of a rule counts in its own process.
        """
        script = write(
            "from stepwatch.rules.losses import LossSpike\n"
            "def broken(self, step): raise ArithmeticError('a rule is anybody\\'s code')\n"
            "LossSpike.check = broken\n"
            "train(6, spoiled=3)\n"
        )
        result = fork_server.run(
            [STEPWATCH, "run", "--no-companion", script], cwd=tmp_path, env=environment(),
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip

        assert 0 == result.returncode
        assert 6 == len(result.stdout.splitlines())
        assert 1 == result.stderr.count("stepwatch: rule loss_spike ended by ArithmeticError")
        assert "loss_spike ended by ArithmeticError: a rule is anybody's code" in result.stderr
        assert "non_finite_origin" in result.stderr


class TestBadInput:
    """One clear line, exit status 2, no traceback, and the script never begins."""

    @pytest.mark.parametrize(
        ("arguments", "clear"),
        [
            (["nowhere.py"], "no script at nowhere.py"),
            (["--rule", "none", "nowhere.py"], "no such option '--rule'; did you mean --rules"),
            (["--budget", "3", "nowhere.py"], "more than 0% and at most 100%, such as 3%"),
            (["-m", "no_such_module"], "no module named 'no_such_module'"),
            (["--rules", "los_spike", "script.py"], "did you mean loss_spike?"),
            (["--rules", "loss_spike:windo=3", "script.py"], "windo"),
            (["--rules", "loss_spike:window=many", "script.py"], "many"),
            (["--save", "gradient:raw", "script.py"], "gradients"),
            (["--save", "gradients:raw:every=0", "script.py"], "every"),
            (["--save", "/(/:raw", "script.py"], "does not compile"),
            (
                ["--on-finding", "panic", "script.py"],
                "no action is named 'panic'; 15 are installed",
            ),
            (["--on-finding", "stop:rules=x", "script.py"], "no rule that looks is named 'x'"),
            (["--run", "taken", "script.py"], "taken already holds a run"),
            (["--run", "full", "script.py"], "full is not empty"),
            (["--run", "script.py", "script.py"], "script.py"),
            (["--run", "/proc/nowhere/run", "script.py"], "/proc/nowhere/run"),
            (["--run", "ftp://host/run", "script.py"], "ftp"),
            (["--run", "/proc/x", "script.py"], "write to /proc/x: No such file or"),
            (["--format", "xml", "script.py"], "'xml' is not one of 'native', 'smdebug'"),
        ],
    )
    def test_it_is_refused(self, write, refused, tmp_path, arguments, clear):
        """Before anything runs."""
        write("print('ran')", training=False)
        (tmp_path / "taken").mkdir()
        (tmp_path / "taken/run.json").write_text("{}")
        (tmp_path / "full").mkdir()
        (tmp_path / "full/thesis.tex").write_text("years of work")

        assert clear in refused("run", *arguments)
        assert "years of work" == (tmp_path / "full/thesis.tex").read_text()

    def test_so_it_is_in_a_process_of_its_own(self, stepwatch):
        """Nothing else is said, by whatever is imported."""
        told = stepwatch("run", "nowhere.py")

        assert (2, "", 1) == (told.returncode, told.stdout, len(told.stderr.splitlines()))


def test_the_command_is_run_by_this_python():
    """Else these tests would be about another installation."""
    assert str(sys.prefix) in str(STEPWATCH)
