"""Trainings that are ended early: they end as ever, and the run says what it knows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import numpy as np
import pytest

from stepwatch import Trial
from tests.support.faults.faulty_trainings import start_python

pytestmark = pytest.mark.slow


# All steps that are over are in the black box, and none is stored.
STORE_NOTHING = """\
settled = settle

def settle():
    writer = sys.modules.get("stepwatch.formats.native.writer")
    if writer is not None:
        writer.NativeWriter.tick = lambda self: None
        settled()

settle()
"""


# The step is over well before it is written, by a thread that gets little of the processors.
DIES_AT_ONCE = """\
import time
boxes = sys.modules.get("stepwatch.capture.black_box")
if boxes is not None:
    write = boxes.FrameWriter.write_step
    boxes.FrameWriter.write_step = lambda *given: (time.sleep(0.1), write(*given))[1]
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
mse_loss(model(torch.ones(16, 4)), torch.zeros(16, 1)).backward()
optimizer.step()
os.kill(os.getpid(), signal.SIGKILL)
"""


class TestAbruptEnds:
    @pytest.mark.parametrize(
        ("end", "status"),
        [
            pytest.param("signal.SIGTERM", -signal.SIGTERM, marks=pytest.mark.slow),
            ("signal.SIGKILL", -signal.SIGKILL),
            pytest.param("os._exit(3)", 3, marks=pytest.mark.slow),
        ],
    )
    def test_what_was_stored_by_then_is_there(self, faulty, end, status):
        """Nobody is left to write a note: it died, and what may be missing is said."""
        how = end if status > 0 else f"os.kill(os.getpid(), {end})"
        seen = faulty(f"train(faults={{20: lambda: {how}}})\n", options=["--no-companion"])

        seen.assert_unharmed()
        assert status == seen.watched.status
        assert ("died", list(range(20))) == (seen.trial.state, seen.trial.steps())
        (died,) = seen.shown("✕")
        assert died.startswith("Killed (SIGKILL or out of memory) after step 19")

    @pytest.mark.parametrize("how", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
    def test_what_only_the_black_box_has_is_there_too(self, faulty, how):
        """It ends before anything was stored: every verb and reader falls back, and says so."""
        seen = faulty(
            f"{STORE_NOTHING}train(faults={{5: lambda: {how}}})\n", options=["--no-companion"]
        )

        assert (list(range(5)), 5) == (seen.trial.steps(), seen.trial.num_salvaged)
        assert 5 == len(seen.trial.tensor("loss/mse_loss").statistics()["mean"])
        known = "Its process left no note of its end; 5 steps are from the black box"
        assert any(line.startswith(known) for line in seen.shown(""))

    @pytest.mark.parametrize("run_format", ["native", "smdebug"])
    def test_a_first_step_is_in_the_black_box_when_its_optimizer_has_stepped(
        self, faulty, run_format
    ):
        """Who is killed in the next moment has that step, whichever thread runs then."""
        options = ["--no-companion", "--format", run_format]
        seen = faulty(DIES_AT_ONCE, options=options)

        assert -signal.SIGKILL == seen.watched.status
        assert ([0], 1) == (seen.trial.steps(), seen.trial.num_salvaged)
        known = "Its process left no note of its end; 1 step is from the black box"
        assert any(line.startswith(known) for line in seen.shown(""))


# For every process that is started with it, the companion among them. In C, as Python's clock is
# not the only one that is read: the kernel reads the system's.
CLOCK = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {{
    static int (*system_clock)(clockid_t, struct timespec *);
    if (!system_clock) *(void **)&system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = system_clock(clock, now), hours = 0;
    if (failed || clock != CLOCK_REALTIME) return failed;
    FILE *file = fopen("{place}", "r");
    if (file && fscanf(file, "%d", &hours) == 1) now->tv_sec += hours * 3600;
    if (file) fclose(file);
    return 0;
}}
"""


@pytest.fixture
def clock(tmp_path):
    """A file of the hours that the clock is wrong by, and the environment that makes it so."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    place, source, library = (tmp_path / name for name in ("hours", "clock.c", "clock.so"))
    place.write_text("0")
    source.write_text(CLOCK.format(place=place))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return place, {**os.environ, "LD_PRELOAD": str(library)}


class TestClock:
    @pytest.mark.parametrize("who", ["--no-companion", "--companion"])
    @pytest.mark.parametrize("hours", [-1, 1])
    def test_a_clock_that_is_set_loses_no_step_and_no_order(self, faulty, clock, who, hours):
        """As by a time server, or at the end of summer time; and set right again."""
        place, env = clock
        text = (
            "from pathlib import Path\n"
            f"turn = Path({str(place)!r}).write_text\n"
            f"train(faults={{20: lambda: turn('{hours}'), 40: lambda: turn('0')}})\n"
        )
        seen = faulty(text, options=[who], env=env)
        times = seen.trial.rows(frozenset(["loss/mse_loss"]), ["time_ns"])["time_ns"].to_numpy()

        seen.assert_unharmed()
        assert ("finished", list(range(60))) == (seen.trial.state, seen.trial.steps())
        assert 60 == len(seen.trial.tensor("loss/mse_loss").statistics()["mean"])
        assert [hours, -hours] == np.round(np.diff(times)[[19, 39]] / 3600e9).tolist()
        assert ([], []) == (seen.shown("lost"), seen.shown("✕"))


class TestSecrets:
    def test_what_lets_somebody_in_is_not_kept_of_an_exception(self, faulty):
        """Neither in the note of the end nor in the black box; Python shows it as ever."""
        url = "https://me:Hidden1@host/data?part=1&X-Amz-Signature=Hidden2"
        raises = f"""def fail(): raise ValueError("cannot reach " + {url!r})\n"""
        seen = faulty(raises + "train(faults={5: fail})\n")
        kept = b"".join(path.read_bytes() for path in seen.run.rglob("*") if path.is_file())

        seen.assert_unharmed()
        assert "Hidden2" in seen.watched.told
        assert "Hidden" not in seen.trial.reader.ends()["worker_0"].error
        assert b"https://***@host/data?part=1&X-Amz-Signature=***" in kept
        assert b"cannot reach https://me" not in kept


class TestInterrupted:
    def test_ctrl_c_at_a_step_is_noted_and_loses_none(self, faulty):
        """A real SIGINT before step 30: all steps up to it are there."""
        seen = faulty("train(faults={30: lambda: os.kill(os.getpid(), signal.SIGINT)})\n")

        seen.assert_unharmed()
        assert -signal.SIGINT == seen.watched.status
        assert ("interrupted", list(range(30))) == (seen.trial.state, seen.trial.steps())
        assert [] == seen.shown("lost")
        assert ["KeyboardInterrupt"] == seen.shown("error")

    @pytest.mark.slow
    def test_ctrl_c_while_a_model_runs_is_the_same(self, faulty):
        """In the midst of a forward: what the step had by then is kept as its last."""
        text = (
            "def interrupt():\n"
            "    import torch.nn.functional as F\n"
            "    relu = F.relu\n"
            "    def broken(*given, **named):\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "        return relu(*given, **named)\n"
            "    F.relu = broken\n"
            "train(faults={30: interrupt})\n"
        )
        seen = faulty(text)

        seen.assert_unharmed()
        assert "interrupted" == seen.trial.state
        assert list(range(30)) == seen.trial.steps()[:30]


HOOKED = """
from stepwatch import TorchHook

hook = TorchHook(run="run")
"""


class TestHookNobodyCloses:
    """Python closes it at its end, and says how the script ended."""

    @pytest.mark.parametrize(
        ("text", "status", "state", "error"),
        [
            ("train(faults={20: lambda: hook.stop('enough')})", 75, "stopped", "enough"),
            pytest.param(
                "train(20); raise RuntimeError('boom')",
                1,
                "failed",
                "RuntimeError: boom",
                marks=pytest.mark.slow,
            ),
        ],
        ids=["stop", "error"],
    )
    def test_its_run_says_how_the_script_ended(self, tmp_path, text, status, state, error):
        """A stop is a stop, though Python shows nobody that exception."""
        ended = start_python(HOOKED + text, tmp_path)()

        note = Trial(tmp_path / "run").reader.ends()["worker_0"]
        assert (status, state, error) == (ended.status, note.state, note.error)
