"""A script may read its run while it trains: what a call saved is there when it has returned."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from smdebug.trials import create_trial
from stepwatch.capture.recorder import Recorder
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.smdebug.event_files import EventFiles
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import open_store
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_record
from stepwatch_smdebug.hooks import base
from tests.support import fork_server
from tests.support.compat.pytorch_hooks import (
    EVERY_STEP,
    WORKER,
    a_net,
    closed,
    names,
    no_hook_left,
    out,
    train,
)

__all__ = ["no_hook_left", "out"]


DIES_AT_ONCE = """\
import os, signal, sys
import torch
import smdebug.pytorch as smd

hook = smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1), save_all=True)
model, loss = torch.nn.Linear(4, 1), torch.nn.MSELoss()
hook.register_module(model)
hook.register_loss(loss)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss(model(torch.ones(16, 4)), torch.zeros(16, 1)).backward()
optimizer.step()
os.kill(os.getpid(), signal.SIGKILL)
"""


def times_of(reader, step):
    """Return when each value of a step was saved, seconds."""
    saved = reader.saved(WORKER, step)
    files = EventFiles(open_store(reader._files._store.url))
    return {name: files.event(saved, name).wall_time for name in saved.contents.byte_ranges}


class TestSteps:
    def test_all_but_the_open_step_are_there(self, out):
        """The last forward may still be followed by its backward."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP, include_collections=["weights"]), a_net()
        hook.register_module(net)
        train(net)
        for step in range(5):
            train(net)
            trial = create_trial(out)
            assert list(range(step + 1)) == trial.steps()
            assert (2, 3) == trial.tensor("Sequential_0.weight").value(step).shape

    def test_its_collections_are_there_as_well(self, out):
        """A tensor that comes later joins them at once."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP), a_net()
        hook.register_module(net)
        for step in range(3):
            train(net)
            hook.save_tensor(f"mine{step}", torch.ones(2), "of_mine")
        trial = create_trial(out)

        assert ["mine0", "mine1"] == trial.tensor_names(collection="of_mine")

    def test_a_store_that_takes_too_long_is_waited_for_once(self, out, monkeypatch, caplog):
        """Training goes on without it."""
        waits = []
        monkeypatch.setattr(Recorder, "store_steps", lambda _, timeout: bool(waits.append(timeout)))
        hook, net = smd.Hook(out, save_config=EVERY_STEP), a_net()
        hook.register_module(net)
        for _ in range(4):
            train(net)
            hook.save_tensor("mine", torch.ones(2))

        assert [base._PATIENCE_S] == waits
        assert "the training waits for it no longer" in caplog.text


class TestFirstStep:
    @pytest.mark.slow
    def test_a_training_killed_in_the_next_moment_has_it(self, out):
        """When an optimizer has stepped, it is stored as far as it went."""
        process = fork_server.Popen([sys.executable, "-c", DIES_AT_ONCE, out], env=dict(os.environ))

        assert -signal.SIGKILL == process.wait(120)
        trial = create_trial(out)
        assert [0] == trial.steps()
        expected = {"Linear_weight", "gradient/Linear_weight", "MSELoss_output_0"}
        assert expected <= {*trial.tensor_names()}
        assert (1, 4) == trial.tensor("gradient/Linear_weight").value(0).shape

    def test_what_comes_after_its_optimizer_is_added(self, out):
        """A second backward of the same forward, and what the script saves itself."""
        hook = smd.Hook(out, save_config=EVERY_STEP, include_collections=["gradients"])
        net = a_net()
        hook.register_module(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        for _ in range(2):
            output = net(torch.ones(4, 3))
            output.sum().backward(retain_graph=True)
            optimizer.step()
            (2 * output.sum()).backward()
            hook.save_scalar("mine", 3.0)
            optimizer.step()
        reader = closed(hook)
        name = "gradient/Sequential_0.bias"

        assert names(reader, 1) == names(reader, 0)
        first, second = (reader.value(WORKER, step, name) for step in (0, 1))
        np.testing.assert_array_equal(second, first)
        assert 3 == reader.value(WORKER, 0, "scalar/mine")


class TestScalars:
    def test_a_scalar_has_the_time_that_it_was_given(self, out):
        """To the bit; one without has that of the call, and other tensors that of the step."""
        given = 1_600_000_000.123_456_7
        hook, net = smd.Hook(out, save_config=EVERY_STEP), a_net()
        hook.register_module(net)
        train(net)
        before = time.time()
        hook.save_scalar("given", 1.5, timestamp=given)
        hook.save_scalar("now", 2.5)
        after = time.time()
        found = times_of(closed(hook), 0)

        assert given == found["scalar/given"]
        assert before <= found["scalar/now"] <= after

    @pytest.mark.parametrize("value", [{"a": 1}, [1, 2]])
    def test_what_is_no_number_is_refused_at_once(self, out, value):
        """Not when the step is stored, where it would take the others with it."""
        with pytest.raises(TypeError, match="must have one element"):
            smd.Hook(out).save_scalar("x", value)

    def test_a_dict_is_no_tensor(self, out, caplog):
        """It is left out, and said."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP), a_net()
        hook.register_module(net)
        train(net)
        hook.save_tensor("x", {"a": 1})
        hook.save_scalar("y", 1)

        assert ["scalar/y"] == list(closed(hook).saved(WORKER, 0).contents.byte_ranges)
        assert "x" in caplog.text


class TestMoreOfAStep:
    def test_what_comes_later_is_added_to_the_stored_step(self):
        """Beside what was there; of the same name the later value counts."""
        store = MemoryStore("more-of-a-step")
        writer = open_writer(RunTarget(store, WORKER, Manifest("id", 1, run_format="smdebug")))
        first = {"w": np.float32([1, 2]), "loss/a": np.float32(0.5)}
        writer.write(make_record(0, first, raw=True))
        writer.flush()
        writer.write(make_record(0, {"loss/a": np.float32(0.25), "v": np.int64([3])}, raw=True))
        writer.write(make_record(1, first, raw=True))
        writer.close(End("finished", 1))
        reader = SmdebugReader(store)
        reader.refresh()

        assert [0, 1] == reader._catalog.columns(WORKER).steps.tolist()
        np.testing.assert_array_equal([1, 2], reader.value(WORKER, 0, "w"))
        assert 0.25 == reader.value(WORKER, 0, "loss/a")
        np.testing.assert_array_equal([3], reader.value(WORKER, 0, "v"))
        assert 0.5 == reader.value(WORKER, 1, "loss/a")
