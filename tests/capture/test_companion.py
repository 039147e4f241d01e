"""The companion: what a training recorded is judged and stored, whatever ends which process."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.capture.companion import WITHOUT_A_WORD
from stepwatch.capture.in_process import InProcess
from stepwatch.capture.link import CompanionLink
from stepwatch.capture.output import Output
from stepwatch.formats.blackbox import dump_keys
from stepwatch.formats.manifest import read_ends
from stepwatch.judge.live import LiveWatch
from stepwatch.model.record import Layout, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.rules.losses import LossSpike
from stepwatch.store import open_store
from stepwatch.trial import Trial
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, TRAINING, call, environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs processes of POSIX")
RULES = ["exploding_tensor", "loss_spike"]
LONG_S = 60.0


def recorder_of(path, *listeners, mb=1, **options):
    output = Output(**{"companion": True, "black_box_mb": mb, **options})
    recorder = Recorder(path, output=output, listeners=listeners, rank=(0, 1), policy=POLICY)
    assert isinstance(recorder._carrier, CompanionLink) == output.companion
    return recorder


POLICY = ["weights:raw:every=3", "weights:digest:every=2", "weights:exponents:every=5"]


def observe(recorder, step, size=10, loss=1.0):
    weight = np.full(size, step + 1, np.float32)
    opened = recorder.open_step(Mode.TRAIN if step % 4 else Mode.EVAL)
    opened.add(TensorInfo("w", "weights", "float32", weight.shape), weight)
    opened.add(TensorInfo("loss/x", "losses", "float32", ()), np.asarray(loss, np.float32))
    return recorder.end_step(opened.mode)


def wait_until(is_so):
    """Wait until something is so; a test that waits for ever is ended by its runner."""
    pause = threading.Event()
    while not is_so():
        pause.wait(0.005)


def is_running(recorder):
    return recorder._carrier._page.is_reading


def contents(path):
    """Return all that a trial holds of steps, but the times."""
    return [
        (
            record.mode,
            record.step,
            record.mode_step,
            record.layout.tensors,
            str(record.statistics.tolist()),  # with nan, which equals nothing
            str({name: array.tolist() for name, array in record.raw.items()}),
            dict(record.digests),
            {name: array.tolist() for name, array in record.exponents.items()},
        )
        for (record,) in Trial(path).records()
    ]


def left_beside(path):
    """Return the files that a companion and its training share, which are nobody's after them."""
    return [key for key in open_store(path).list("blackbox/") if not key.endswith(".frames")]


class TestSame:
    @pytest.mark.slow
    @pytest.mark.parametrize("options", [{}, {"mb": 0}, {"format": "smdebug"}])
    def test_what_is_stored_is_what_the_process_itself_would_store(self, tmp_path, options):
        """Steps of all modes with all that is saved of them, findings, statuses and the note."""
        ends, found = [], []
        for companion in (False, True):
            live = LiveWatch(RULES)
            path = tmp_path / str(companion)
            recorder = recorder_of(path, live, companion=companion, **options)
            for step in range(40):
                observe(recorder, step, loss=1.0 if step != 30 else np.nan)
            end = recorder.close("stopped", "it was enough")
            assert end == read_ends(open_store(path))["worker_0"]
            ends.append((end.state, end.steps, end.dropped, end.failures, end.error, end.lost))
            found.append((live.findings, live.statuses()))

        assert contents(tmp_path / "False") == contents(tmp_path / "True")
        assert ends[0] == ends[1] == ("stopped", 40, 0, 0, "it was enough", "")
        assert found[0] == found[1]
        for name in ("worker_0.jsonl", "worker_0.statuses.json"):
            one, other = ((tmp_path / c / "findings" / name) for c in ("False", "True"))
            assert one.read_bytes() == other.read_bytes()

    def test_steps_of_a_few_numbers_come_between_the_others(self, tmp_path):
        """Those that were taken without an open step, in order, judged and stored."""
        losses = Layout((TensorInfo("loss/x", "losses", "float32", ()),))
        found = []
        for companion in (False, True):
            live = LiveWatch(RULES)
            recorder = recorder_of(tmp_path / str(companion), live, companion=companion)
            for step in range(60):
                if step % 10 == 0:
                    observe(recorder, step)
                else:
                    recorder.take_scalars(losses, (1.0 if step != 55 else np.inf,))
            recorder.close()
            found.append([finding.step for finding in live.findings])

        assert [55] == found[0] == found[1]
        assert contents(tmp_path / "False") == contents(tmp_path / "True")
        assert [*range(60)] == [step for _, step, *_ in contents(tmp_path / "True")]

    def test_a_flush_leaves_nothing_to_be_judged(self, tmp_path):
        """What was found is known here."""
        live = LiveWatch(RULES)
        recorder = recorder_of(tmp_path, live)
        observe(recorder, 1)
        observe(recorder, 2, loss=np.inf)

        assert recorder.flush(LONG_S)
        assert [1] == [finding.step for finding in live.findings]
        recorder.close()

    def test_nothing_is_left_after_a_clean_end(self, tmp_path):
        """No ring, no control page, no process."""
        recorder = recorder_of(tmp_path, LiveWatch(RULES))
        observe(recorder, 1)
        recorder.close()

        assert not (tmp_path / "blackbox").exists()
        assert recorder._carrier._process.poll() == 0

    def test_a_finding_is_followed_by_a_close_look_and_a_dump(self, tmp_path):
        """The companion stores it; the ring, of which all is in the dump, goes."""
        recorder = recorder_of(tmp_path, LiveWatch(RULES))
        for step in range(1, 4):
            observe(recorder, step, loss=np.nan if step == 3 else 1.0)
        recorder.flush(LONG_S)
        wanted = recorder.black_box.wanted
        recorder.close()

        assert wanted
        assert 1 == len(dump_keys(open_store(tmp_path)))
        assert [] == left_beside(tmp_path)

    def test_values_larger_than_the_ring_go_beside_it(self, tmp_path):
        """And come back whole."""
        recorder = recorder_of(tmp_path, mb=1)
        for step in range(1, 13):
            observe(recorder, step, size=400_000)
        end = recorder.close()
        trial = Trial(tmp_path)

        assert (12, 0, "") == (end.steps, end.dropped, end.lost)
        raw = {record.step: record.raw["w"] for (record,) in trial.records() if record.raw}
        assert len(raw) >= 4
        for step, array in raw.items():
            assert {step + 2} == set(array)
            assert (400_000,) == array.shape
        assert [] == left_beside(tmp_path)

    def test_the_copy_elsewhere_holds_all(self, tmp_path):
        """Also what the training process stores itself."""
        recorder = recorder_of(tmp_path / "run", LiveWatch(RULES), mirror=str(tmp_path / "copy"))
        for step in range(5):
            observe(recorder, step)
        recorder.store.put("checkpoints/worker_0-1.pt", b"of the training")
        recorder.close()

        here, there = (open_store(tmp_path / name).list() for name in ("run", "copy"))
        assert [key for key in here if not key.startswith("blackbox/")] == there
        assert contents(tmp_path / "run") == contents(tmp_path / "copy")


class TestInstead:
    def test_stores_in_memory_are_written_here(self):
        """No other process reaches them."""
        recorder = Recorder("memory://no-companion", output=Output(companion=True), rank=(0, 1))

        assert isinstance(recorder._carrier, InProcess)
        recorder.close()

    @pytest.mark.parametrize("listener", [lambda: LiveWatch([LossSpike()]), lambda: Plain()])
    def test_listeners_that_are_objects_are_called_here(self, tmp_path, listener, caplog):
        """Nothing is said about it."""
        output = Output(companion=True)
        recorder = Recorder(tmp_path, output=output, listeners=[listener()], rank=(0, 1))
        observe(recorder, 1)
        recorder.close()

        assert isinstance(recorder._carrier, InProcess)
        assert [] == caplog.messages
        assert [0] == Trial(tmp_path).steps()

    def test_where_it_cannot_start_a_line_says_so(self, tmp_path, caplog, monkeypatch):
        """And everything goes on in this process."""
        monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
        with caplog.at_level(logging.WARNING, "stepwatch"):
            recorder = Recorder(tmp_path / "run", output=Output(companion=True), rank=(0, 1))
            observe(recorder, 1)
            end = recorder.close()

        assert ["rules and writers work in the process of the training"] == [
            line.partition(":")[0] for line in caplog.messages
        ]
        assert (1, 0) == (end.steps, end.dropped)
        assert [] == left_beside(tmp_path / "run")

    def test_where_it_ends_before_it_begins_its_work_is_done_here(
        self, tmp_path, caplog, monkeypatch
    ):
        """Nothing is lost, and the line says what it was."""
        monkeypatch.setattr("stepwatch.capture.link._CODE", "raise ImportError('no {root!s}')")
        live = LiveWatch(RULES)
        recorder = recorder_of(tmp_path, live)
        observe(recorder, 0, loss=np.nan)
        wait_until(lambda: recorder._carrier._in_thread)
        for step in range(1, 20):
            observe(recorder, step)
        end = recorder.close()

        assert (20, 0, "", 1) == (end.steps, end.dropped, end.lost, end.failures)
        assert list(range(20)) == Trial(tmp_path).steps()
        assert [0] == [finding.step for finding in live.findings]
        assert ["InProgress"] not in [[status.status] for status in live.statuses()]
        (line,) = caplog.messages
        assert "exit status 1 (ImportError: no" in line
        assert line.endswith("its work is done in the process of the training")
        assert [] == left_beside(tmp_path)


class Plain:
    """A listener that knows of no companion."""

    def start(self, store, worker, patterns): ...

    def on_step(self, record): ...

    def finish(self): ...


class TestCompanionDies:
    def kill(self, recorder):
        """Kill it once it reads, and wait until that was noticed."""
        link = recorder._carrier
        process = link._process
        wait_until(lambda: is_running(recorder))
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: link._process is not process or link._is_lost)

    @pytest.mark.slow
    def test_another_goes_on_and_no_step_is_lost(self, tmp_path, caplog):
        """What was found stays found, and that rules began anew is in the note."""
        live = LiveWatch(RULES)
        recorder = recorder_of(tmp_path, live)
        for step in range(100):
            observe(recorder, step, loss=np.nan if step == 10 else 1.0)
            if step == 50:
                recorder.flush(LONG_S)
                self.kill(recorder)
        end = recorder.close()

        assert (100, 0, "", 1) == (end.steps, end.dropped, end.lost, end.failures)
        assert "the companion process ended by signal 9" in end.error
        assert list(range(100)) == Trial(tmp_path).steps()
        assert 10 in {finding.step for finding in live.findings}
        assert ["another goes on, its rules begin anew"] == [
            line.partition("; ")[2] for line in caplog.messages
        ]
        assert [] == left_beside(tmp_path)

    @pytest.mark.slow
    def test_after_the_second_the_training_goes_on_and_losses_are_counted(self, tmp_path):
        """The note is written by the training process."""
        live = LiveWatch(RULES)
        recorder = recorder_of(tmp_path, live)
        for step in range(20):
            observe(recorder, step)
        recorder.flush(LONG_S)
        wait_until(lambda: recorder._carrier._page.num_stored == 20)
        self.kill(recorder)
        self.kill(recorder)
        for step in range(20, 50):
            observe(recorder, step)
        end = recorder.close()

        assert (50, 30, "finished") == (end.steps, end.dropped, end.state)
        assert end.lost == "30 of 50 steps (the companion process ended by signal 9)"
        assert end == read_ends(open_store(tmp_path))["worker_0"]
        assert list(range(20)) == Trial(tmp_path).steps()
        assert {"Stopped"} == {status.status for status in live.statuses()}
        assert [] == left_beside(tmp_path)


SCRIPT = """\
import os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.capture.test_companion import LONG_S, observe, recorder_of, wait_until
from stepwatch.judge.live import LiveWatch

recorder = recorder_of({run!r}, LiveWatch(["exploding_tensor"]), mb=4)
"""


def run_script(tmp_path, text):
    code = SCRIPT.format(root=str(Path(__file__).parents[2]), run=str(tmp_path / "run")) + text
    return fork_server.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )


def wait_for_end(path):
    """Wait until the companion, which nobody here started, has ended its work."""
    store = open_store(path)
    wait_until(lambda: read_ends(store))
    wait_until(lambda: not store.list("blackbox/worker_0.control"))
    return read_ends(store)["worker_0"]


class TestTrainingDies:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "death",
        [
            "os.kill(os.getpid(), signal.SIGKILL)",
            "os._exit(0)",
            "import ctypes; ctypes.string_at(0)",
        ],
        ids=["kill", "exit", "segfault"],
    )
    @pytest.mark.parametrize("steps", [3, 400])
    def test_all_that_was_recorded_is_stored_and_the_note_says_how_it_ended(
        self, tmp_path, death, steps
    ):
        """Also where the companion had not even begun to read."""
        text = f"for step in range({steps}): observe(recorder, step)\n{death}\n"
        run_script(tmp_path, text)
        end = wait_for_end(tmp_path / "run")

        assert ("failed", steps, 0) == (end.state, end.steps, end.dropped)
        assert end.error == WITHOUT_A_WORD
        assert list(range(steps)) == Trial(tmp_path / "run").steps()
        statuses = json.loads((tmp_path / "run/findings/worker_0.statuses.json").read_text())
        assert [steps] == [one["evaluations"] for one in statuses]

    @pytest.mark.slow
    def test_a_child_that_is_forked_records_nothing_and_ends_nothing(self, tmp_path):
        """The parent goes on."""
        told = run_script(
            tmp_path,
            "observe(recorder, 0)\n"
            "child = os.fork()\n"
            "observe(recorder, 1)\n"
            "if child == 0:\n"
            "    recorder.close('failed', 'of the child')\n"
            "    os._exit(0)\n"
            "os.waitpid(child, 0)\n"
            "observe(recorder, 2)\n"
            "end = recorder.close()\n"
            "print(end.state, end.steps, end.dropped)\n",
        )

        assert ("finished 3 0\n", "") == (told.stdout, told.stderr)
        assert [0, 1, 2] == Trial(tmp_path / "run").steps()


class TestFullDisk:
    def test_steps_that_a_store_refuses_are_counted(self, tmp_path, caplog):
        """A folder that cannot be written to any more costs steps, never training."""
        recorder = recorder_of(tmp_path / "run")
        observe(recorder, 0)
        recorder.flush(LONG_S)
        wait_until(lambda: recorder._carrier._page.num_stored == 1)
        folder = tmp_path / "run" / "observations"
        moved = folder.rename(tmp_path / "moved")
        folder.write_text("in the way")
        for step in range(1, 10):
            observe(recorder, step)
        recorder.flush(LONG_S)
        with caplog.at_level(logging.ERROR, "stepwatch"):
            end = recorder.close()
        folder.unlink()
        moved.rename(folder)

        assert (10, 9) == (end.steps, end.dropped)
        assert "9 of 10 steps" in end.lost
        assert end.failures
        assert end == read_ends(open_store(tmp_path / "run"))["worker_0"]
        assert [0] == Trial(tmp_path / "run").steps()

    def test_how_the_rules_stand_is_known_though_it_cannot_be_stored(self, tmp_path):
        """What judged the steps ends its work, whatever a store refuses."""
        live = LiveWatch(RULES)
        recorder = recorder_of(tmp_path / "run", live)
        observe(recorder, 0)
        recorder.flush(LONG_S)
        wait_until(lambda: (tmp_path / "run" / "findings").is_dir())
        (tmp_path / "run" / "findings").rename(tmp_path / "moved")
        (tmp_path / "run" / "findings").write_text("in the way")
        observe(recorder, 1, loss=np.nan)
        end = recorder.close()

        assert (2, 0) == (end.steps, end.dropped)
        assert end.failures
        assert [1] == [finding.step for finding in live.findings]
        assert "InProgress" not in {status.status for status in live.statuses()}


class TestNoRoom:
    def test_a_disk_without_room_for_the_ring_is_written_to_as_ever(self, tmp_path, monkeypatch):
        """By the process of the training; nothing of what was tried stays there."""

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", full)
        recorder = Recorder(tmp_path, output=Output(companion=True), rank=(0, 1))
        observe(recorder, 0)
        end = recorder.close()

        assert (1, 0) == (end.steps, end.dropped)
        assert isinstance(recorder._carrier, InProcess)
        assert [] == left_beside(tmp_path)


class TestRun:
    """The same by ``stepwatch run``."""

    def train(self, tmp_path, text, *options, **more):
        (tmp_path / "train.py").write_text(TRAINING + text)
        return call(STEPWATCH, "run", "--companion", *options, "train.py", cwd=tmp_path, **more)

    @pytest.mark.slow
    def test_the_terminal_looks_the_same(self, tmp_path):
        """But for what took how long."""
        told = [
            self.train(
                *(tmp_path, "train(40, spoiled=20)\n", option, "--run", f"run{option}"),
                *("--budget", "none"),
            )
            for option in ("--companion", "--no-companion")
        ]
        lines = [
            [
                line.split(" in ")[0].replace(one, "")
                for line in sorted(said.stderr.splitlines())
                if "observing took" not in line
            ]
            for one, said in zip(("run--companion", "run--no-companion"), told, strict=True)
        ]

        assert told[0].stdout == told[1].stdout
        assert lines[0] == lines[1]

    @pytest.mark.slow
    def test_a_finding_stops_the_training(self, tmp_path):
        """Long before it would have ended."""
        told = self.train(
            tmp_path, "train(100_000, spoiled=20)\n", "--on-finding", "stop", "--run", "run"
        )
        trial = Trial(tmp_path / "run")

        assert 75 == told.returncode
        assert "stopped" == trial.state
        assert 20 <= trial.steps()[-1] < 50_000

    @pytest.mark.slow
    def test_ctrl_c_ends_both(self, tmp_path):
        """The run is marked, and whole."""
        (tmp_path / "train.py").write_text(TRAINING + "train(1_000_000)\n")
        process = fork_server.Popen(
            [STEPWATCH, "run", "--companion", "--run", "run", "train.py"], cwd=tmp_path,
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        for _ in range(10):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
        trial = Trial(tmp_path / "run")

        assert -signal.SIGINT == process.returncode
        assert "interrupted" == trial.state
        assert list(range(len(trial.steps()))) == trial.steps()
        assert len(trial.steps()) >= 9

    @pytest.mark.slow
    def test_two_ranks_have_one_each(self, tmp_path):
        """And one run."""
        (tmp_path / "train.py").write_text(TRAINING + "train(10)\n")
        processes = [
            fork_server.Popen(
                [STEPWATCH, "run", "--companion", "--run", "run", "train.py"],
                cwd=tmp_path,
                env=environment(RANK=str(rank), WORLD_SIZE="2"),
                stdout=subprocess.DEVNULL,
            )
            for rank in range(2)
        ]
        assert [0, 0] == [process.wait() for process in processes]
        trial = Trial(tmp_path / "run")

        assert ("worker_0", "worker_1") == trial.workers
        assert ("finished", list(range(10))) == (trial.state, trial.steps())
