"""TensorBoard beside a training: fed by the recorder and by the hook for torch."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch import TorchHook, Trial
from stepwatch.capture.output import Output
from stepwatch.capture.recorder import Recorder
from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import Reduction, SavedCollection, SaveSteps, Stored
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch_smdebug.plan import HookConfig
from tests.support import ROOT, fork_server
from tests.support.formats.tensorboard_steps import curve, events, files, histograms, seen

EVERY_STEP = dict.fromkeys(Mode, SaveSteps(interval=1))
KILLED = """\
import sys
sys.path.insert(0, sys.argv[2])
from tests.support.formats.tensorboard_steps import step_of
from stepwatch.formats.tensorboard import TensorBoardWriter
writer = TensorBoardWriter(sys.argv[1], "worker_0")
for step in range(10**9):
    writer.write(step_of({f"loss/{number}": float(step) for number in range(200)}, step))
    writer.flush()
    print(step, flush=True)
"""


def train(steps):
    """Train for some steps and return the losses."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def observe(recorder, name, kind, value):
    recorder.open_step(Mode.TRAIN).add(TensorInfo(name, kind, value.dtype.name, value.shape), value)


class TestHook:
    def test_tensorboard_shows_the_run_while_it_trains(self, tmp_path):
        """The losses of the script, to the bit, before the hook is closed."""
        board = tmp_path / "board"
        with TorchHook(run=tmp_path / "run", tensorboard=str(board), say=lambda _: None) as hook:
            losses = train(3)
            hook.recorder.flush()
            hook.recorder._writers[1].flush()
            read = seen(board)
            # The hook holds the last step until the next one begins.
            assert losses[:2] == [value for _, value in curve(read, "loss/mse_loss")]
        assert losses == [value for _, value in curve(read.Reload(), "loss/mse_loss")]
        assert 1 == len(files(board))

    def test_it_shows_what_the_run_holds(self, tmp_path):
        """Norms as the trial says them, and histograms of what was saved raw, at its steps."""
        board = tmp_path / "board"
        options = {"policy": "gradients:raw:every=2", "tensorboard": str(board)}
        with TorchHook(run=tmp_path / "run", say=lambda _: None, **options):
            train(5)
        read, trial = seen(board), Trial(tmp_path / "run")

        norms = trial.tensor("0.weight").statistics()["l2"].astype(np.float32)
        assert norms.tolist() == [value for _, value in curve(read, "l2/0.weight")]
        shown = read.Histograms("gradients/gradient/0.weight")
        assert [0, 2, 4] == [one.step for one in shown]
        assert {12.0} == {one.histogram_value.num for one in shown}

    def test_what_fails_there_hurts_neither_training_nor_the_run(self, tmp_path, caplog):
        """It is counted in the end note and logged once."""
        board = tmp_path / "board"
        board.write_text("in the way")
        plain = train(4)
        hook = TorchHook(run=tmp_path / "run", tensorboard=str(board), say=lambda _: None)
        with caplog.at_level(logging.ERROR, "stepwatch"), hook:
            watched = train(4)

        assert plain == watched
        assert 4 == len(Trial(tmp_path / "run").steps())
        assert 4 == hook.close().dropped
        assert 1 == len(caplog.records)

    def test_a_wrong_url_is_refused_before_a_place_is_claimed(self, tmp_path):
        """The next attempt can write there."""
        with pytest.raises(ConfigError, match="no store is installed"):
            TorchHook(run=tmp_path / "run", tensorboard="nowhere://board")
        assert not (tmp_path / "run").exists()


class TestRecorder:
    def test_workers_write_side_by_side(self, tmp_path):
        """Each its own files, with its own values."""
        board = tmp_path / "board"
        output = Output(tensorboard=str(board))
        recorders = [Recorder(tmp_path / "run", output=output, rank=(rank, 2)) for rank in range(2)]
        for rank, recorder in enumerate(recorders):
            observe(recorder, "loss/a", "losses", np.float32(rank))
            recorder.close()

        assert [(0, 0.0)] == curve(seen(board), "loss/a")
        assert [(0, 1.0)] == curve(seen(board, "TRAIN/worker_1"), "loss/a")

    def test_a_debugger_configuration_says_what_is_shown(self, tmp_path):
        """Losses as curves; histograms by collection, also where only reductions are stored."""
        board = tmp_path / "board"
        collections = (
            SavedCollection("losses", ("Loss",), steps=EVERY_STEP, histogram=False),
            SavedCollection(
                "custom", ("w",), steps=EVERY_STEP, stored=Stored(False, (Reduction("min"),))
            ),
            SavedCollection("hidden", ("v",), steps=EVERY_STEP, histogram=False),
        )
        config = HookConfig("", collections, frozenset({"all"}))
        output = Output(tensorboard=str(board), hook_config=config)
        recorder = Recorder(tmp_path / "run", output=output, rank=(0, 1))
        observe(recorder, "Loss_output_0", "outputs", np.float32(0.5))
        for name in "wv":
            observe(recorder, name, "weights", np.ones(3, np.float32))
        recorder.close()

        assert ["Loss_output_0"] == seen(board).Tags()["scalars"]
        assert ["custom/w"] == list(histograms(files(board)[0]))


class TestKilled:
    def test_what_a_killed_process_stored_is_shown(self, tmp_path):
        """All that it had flushed, and no event is damaged."""
        command = [sys.executable, "-c", KILLED, str(tmp_path), str(ROOT)]
        process = fork_server.Popen(command, stdout=subprocess.PIPE, text=True)
        flushed = [int(process.stdout.readline()) for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        process.communicate()

        steps = [step for step, _ in curve(seen(tmp_path), "loss/199")]
        assert steps[: len(flushed)] == flushed
        assert list(range(len(steps))) == steps
        (path,) = files(tmp_path)
        assert len(steps) + 1 == len(list(events(path)))
