"""smdebug's hook for PyTorch: what old scripts say to it."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import torch
from torch import nn

import smdebug.pytorch as smd
from smdebug.exceptions import SMDebugTypeError
from tests.support.compat.pytorch_hooks import EVERY_STEP, WORKER, a_net, closed, names, train


class TestScripts:
    def test_a_script_of_the_old_documentation_runs_unchanged(self, tmp_path, monkeypatch):
        """As SageMaker tells its trainings what to save."""
        file = tmp_path / "hook.json"
        place = str(tmp_path / "tensors")
        document = {
            "LocalPath": place,
            "HookParameters": {"save_interval": "2"},
            "CollectionConfigurations": [{"CollectionName": "gradients"}],
        }
        file.write_text(json.dumps(document))
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(file))

        hook = smd.Hook.create_from_json_file()
        net, criterion = a_net(), nn.MSELoss()
        hook.register_module(net)
        hook.register_loss(criterion)
        train(net, 3, criterion)

        expected = [
            "MSELoss_output_0",
            "gradient/Sequential_0.bias",
            "gradient/Sequential_0.weight",
        ]
        reader = closed(hook)
        assert place == hook.out_dir
        assert expected == sorted(names(reader, 2))
        assert [] == names(reader, 1)

    def test_several_hooks_can_follow_each_other(self, tmp_path):
        """Each writes what is its own."""
        for number in range(2):
            hook = smd.Hook(str(tmp_path / f"run{number}"), save_config=EVERY_STEP, save_all=True)
            net = a_net()
            hook.register_module(net)
            train(net, number + 1)
            assert "Sequential_output_0" in names(closed(hook), number)
            smd.del_hook()

    def test_a_loss_of_the_script_is_recorded_by_name(self, out):
        """Functional losses are no modules."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP), a_net()
        hook.register_hook(net)
        hook.record_tensor_value("nll_loss", net(torch.ones(1, 3)).sum())

        assert ["nll_loss_output_0"] == names(closed(hook), 0)

    def test_tensors_of_modules_can_be_put_into_a_collection(self, out):
        """By the module, before or after it is registered."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP, include_collections=["relu"]), a_net()
        hook.get_collection("relu").add_module_tensors(net[1], inputs=True)
        hook.register_module(net)
        train(net)

        assert ["1_input_0", "1_output_0"] == names(closed(hook), 0)


class TestScalars:
    @pytest.mark.parametrize(
        ("value", "dtype", "shape"),
        [
            (3.5, "float64", (1,)),
            (7, "int64", (1,)),
            (np.float32(2), "float32", (1,)),
            (torch.tensor(2.0), "float32", ()),
            (np.array([[1.0]]), "float64", (1, 1)),
        ],
    )
    def test_scalars_keep_dtype_and_shape(self, out, value, dtype, shape):
        """Python's numbers get one axis, tensors stay as they are."""
        hook = smd.Hook(out)
        hook.save_scalar("mine", value)
        found = closed(hook).value(WORKER, 0, "scalar/mine")

        assert (dtype, shape) == (found.dtype.name, found.shape)

    def test_a_text_can_be_a_scalar(self, out):
        """It is one element too."""
        hook = smd.Hook(out)
        hook.save_scalar("said", "hello")

        assert ["hello"] == closed(hook).value(WORKER, 0, "scalar/said").tolist()

    def test_what_has_two_elements_is_no_scalar(self, out):
        """It is raised where it is said."""
        with pytest.raises(SMDebugTypeError, match="one element"):
            smd.Hook(out).save_scalar("two", [1, 2])

    def test_a_reduction_configuration_does_not_touch_scalars(self, out):
        """They are stored as they are, and only that."""
        config = smd.ReductionConfig(reductions=["mean"])
        hook = smd.Hook(out, save_config=EVERY_STEP, save_all=True, reduction_config=config)
        net = a_net()
        hook.register_module(net)
        train(net)
        hook.save_scalar("mine", 1.0)
        found = names(closed(hook), 0)

        assert "scalar/mine" in found
        assert "smdebug/reductions/mean/scalar/mine" not in found


class TestTensors:
    def test_a_collection_made_after_the_start_just_works(self, out):
        """Its tensors are stored and belong to it."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP), a_net()
        hook.register_module(net)
        train(net)
        hook.save_tensor("mine", torch.ones(2), collections_to_write=["one", "two"])
        train(net)
        reader = closed(hook)

        assert ["mine"] == names(reader, 0)
        for name in ("one", "two"):
            assert {"mine"} == set(reader.collections[name].tensors)

    def test_a_collection_that_is_changed_later_is_followed(self, out):
        """From the next step on."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP, include_collections=["late"]), a_net()
        hook.get_collection("late").include("weight$")
        hook.register_module(net)
        train(net)
        hook.get_collection("late").include("bias$")
        train(net)
        reader = closed(hook)

        assert "Sequential_0.bias" not in names(reader, 0)
        assert "Sequential_0.bias" in names(reader, 1)

    def test_what_is_no_array_is_left_out(self, out):
        """A training goes on without it."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP, save_all=True), a_net()
        hook.register_module(net)
        train(net)
        hook.save_tensor("mine", {"a": 1})
        hook.save_tensor("odd", [object()])

        assert not {"mine", "odd"} & set(names(closed(hook), 0))


class TestState:
    def test_steps_and_modes_can_be_asked_for(self, out):
        """By the names that scripts know."""
        hook, net = smd.Hook(out), a_net()
        hook.register_module(net)
        before = hook.step, hook.mode
        hook.set_mode(smd.modes.TRAIN)
        train(net, 2)

        assert (-1, smd.modes.GLOBAL) == before
        assert (1, {smd.modes.TRAIN: 1, smd.modes.GLOBAL: 1}) == (hook.step, hook.mode_steps)
        assert WORKER == hook.worker == hook.chief_worker

    def test_a_resumed_training_goes_on_counting(self, tmp_path, monkeypatch):
        """After a checkpoint was written, at the next step, the state is kept beside it."""
        checkpoints = tmp_path / "checkpoints"
        checkpoints.mkdir()
        file = tmp_path / "checkpoint.json"
        file.write_text(json.dumps({"LocalPath": str(checkpoints)}))
        monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(file))
        hook, net = smd.Hook(str(tmp_path / "a"), save_config=EVERY_STEP), a_net()
        hook.register_module(net)
        hook.set_mode(smd.modes.TRAIN)
        train(net, 2)
        (checkpoints / "model.pt").write_bytes(b"weights")
        train(net, 1)
        hook.close()

        resumed = smd.Hook(str(tmp_path / "b"))
        assert (1, 1, 1) == (resumed.step, resumed.init_step, resumed.training_run)
        assert {smd.modes.TRAIN: 1, smd.modes.GLOBAL: 1} == resumed.mode_steps

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [({}, True), ({"save_all": True}, False), ({"include_collections": ["weights"]}, False)],
    )
    def test_a_hook_knows_whether_it_was_told_anything(self, out, arguments, expected):
        """The default saves losses and nothing else."""
        assert expected == smd.Hook(out, **arguments).has_default_hook_configuration()

    def test_a_model_that_holds_its_hook_can_be_copied_and_pickled(self, out):
        """The hook of the copy is none."""
        hook, net = smd.Hook(out, save_config=EVERY_STEP, save_all=True), a_net()
        net.hook = hook
        hook.register_module(net)
        train(net)

        x = torch.ones(1, 3)
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            assert torch.equal(net(x), other(x))
