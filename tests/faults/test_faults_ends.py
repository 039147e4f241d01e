"""Trainings that are ended early: they end as ever, and the run says what it knows."""

from __future__ import annotations

import signal

import pytest

from stepwatch import Trial
from tests.support.faults.faulty_trainings import start_python

pytestmark = pytest.mark.slow


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
        assert ["what came after step 19 (the process left no note of its end)"] == (
            seen.shown("lost")
        )


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
