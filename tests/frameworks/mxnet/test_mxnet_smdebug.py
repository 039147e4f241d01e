"""smdebug's hook for MXNet: names, steps and values as smdebug's, and a notebook of smdebug's."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

import smdebug.mxnet as smd
from smdebug.exceptions import SMDebugTypeError
from smdebug.trials import create_trial
from tests.support.frameworks.mxnet.mxnet_document import ARGUMENTS, CELLS, CONFIG, HOOKED, PLAIN

pytestmark = pytest.mark.framework
EVERY_STEP = smd.SaveConfig(save_interval=1)


@pytest.fixture(autouse=True)
def no_hook_left():
    """A hook is the one of its process until it is let go."""
    smd.del_hook()
    yield
    hook = smd.get_hook()
    if hook is not None:
        hook.close()
    smd.del_hook()


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "run")


def a_net():
    mx.random.seed(0)
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, activation="relu", in_units=3), nn.Dense(1, in_units=2))
    net.initialize()
    return net


def train(net, steps=1, loss=None):
    """Train, and return weights after each step and gradients that it used."""
    loss = loss or gluon.loss.L2Loss(prefix="l2loss0_")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    after, used = [], []
    for _ in range(steps):
        with autograd.record():
            value = loss(net(nd.ones((4, 3))), nd.ones((4, 1)))
        value.backward()
        used.append(net[0].weight.grad().asnumpy())
        trainer.step(4)
        after.append(net[0].weight.data().asnumpy())
    return after, used


class TestNames:
    def test_everything_has_the_name_that_smdebug_gives_it(self, out):
        """Those of Gluon; inputs and outputs are numbered, and losses have outputs only."""
        hook = smd.Hook(out, save_config=EVERY_STEP, save_all=True)
        net, loss = a_net(), gluon.loss.L2Loss(prefix="l2loss0_")
        hook.register_block(net)
        hook.register_block(loss)
        train(net, loss=loss)
        hook.close()

        blocks = ("net", "net_dense0", "net_dense0_relu", "net_dense1")
        weights = [f"net_dense{i}_{kind}" for i in (0, 1) for kind in ("weight", "bias")]
        expected = {f"{block}_{end}_0" for block in blocks for end in ("input", "output")}
        expected |= {*weights, *(f"gradient/{name}" for name in weights), "l2loss0_output_0"}
        assert expected == set(create_trial(out).tensor_names())

    def test_collections_are_those_of_smdebug(self, out):
        """Found by the names; losses are always saved."""
        hook = smd.Hook(
            out, save_config=EVERY_STEP, include_collections=["weights", "gradients", "biases"]
        )
        net, loss = a_net(), gluon.loss.L2Loss(prefix="l2loss0_")
        hook.register_hook(net)
        hook.register_hook(loss)
        train(net, loss=loss)
        hook.close()

        trial = create_trial(out)
        assert ["net_dense0_weight", "net_dense1_weight"] == trial.tensor_names(
            collection="weights"
        )
        assert ["net_dense0_bias", "net_dense1_bias"] == trial.tensor_names(collection="biases")
        assert 4 == len(trial.tensor_names(collection="gradients"))
        assert ["l2loss0_output_0"] == trial.tensor_names(collection="losses")
        assert (4,) == trial.tensor("l2loss0_output_0").value(0).shape

    def test_blocks_can_be_put_into_collections(self, out):
        """With what goes in, what comes out, or both."""
        hook = smd.Hook(out, save_config=EVERY_STEP, include_collections=["first"])
        net = a_net()
        hook.get_collection("first").add_block_tensors(net[0], inputs=True)
        hook.register_block(net)
        train(net)
        hook.close()

        assert ["net_dense0_input_0", "net_dense0_output_0"] == create_trial(out).tensor_names()


class TestValues:
    def test_weights_are_those_after_the_step_and_gradients_as_they_were_computed(self, out):
        """They are saved when the next step begins, or the hook closes."""
        hook = smd.Hook(out, save_config=EVERY_STEP, include_collections=["weights", "gradients"])
        net = a_net()
        hook.register_block(net)
        after, used = train(net, steps=3)
        hook.close()

        trial = create_trial(out)
        for step in range(3):
            weight = trial.tensor("net_dense0_weight").value(step)
            np.testing.assert_array_equal(after[step], weight)
            gradient = trial.tensor("gradient/net_dense0_weight").value(step)
            np.testing.assert_array_equal(used[step], gradient)

    def test_reductions_take_the_place_of_values(self, out):
        """As smdebug's readers find them."""
        config = smd.ReductionConfig(reductions=["max"], norms=["l2"])
        hook = smd.Hook(
            out, save_config=EVERY_STEP, reduction_config=config, include_collections=["weights"]
        )
        net = a_net()
        hook.register_block(net)
        after, _ = train(net)
        hook.close()

        found = create_trial(out).tensor("net_dense0_weight").reduction_value(0, "max")
        assert after[0].max() == found

    def test_what_a_script_saves_itself_is_there(self, out):
        """Numbers at every step; arrays of MXNet where something else is saved."""
        hook = smd.Hook(out, save_config=smd.SaveConfig(save_interval=2))
        net = a_net()
        hook.register_block(net)
        hook.save_scalar("before", 1.5)
        for number in range(3):
            train(net)
            hook.save_scalar("number", number)
            hook.save_tensor("array", nd.ones((2,)) * number, "losses")
        hook.close()

        trial = create_trial(out)
        assert [0, 1, 2] == trial.tensor("scalar/number").steps()
        assert [0, 2] == trial.tensor("array").steps()
        assert [2.0, 2.0] == trial.tensor("array").value(2).tolist()
        with pytest.raises(SMDebugTypeError, match="one element"):
            hook.save_scalar("two", nd.ones((2,)))


class TestSteps:
    def test_every_forward_is_a_step_of_its_mode(self, out):
        """What is saved is counted within the mode."""
        config = smd.SaveConfig(save_interval=2)
        hook = smd.Hook(out, save_config=config, include_collections=["weights", "gradients"])
        net = a_net()
        hook.register_block(net)
        hook.set_mode(smd.modes.TRAIN)
        train(net, steps=3)
        hook.set_mode(smd.modes.EVAL)
        for _ in range(3):
            net(nd.ones((4, 3)))
        hook.close()

        trial = create_trial(out)
        assert [0, 2] == trial.steps(mode=smd.modes.TRAIN)
        assert [0, 2] == trial.steps(mode=smd.modes.EVAL)
        assert [0, 2, 3, 5] == trial.steps()
        weights = ["net_dense0_weight", "net_dense1_weight"]
        assert weights == trial.tensor_names(step=0, mode=smd.modes.EVAL)

    def test_what_cannot_be_registered_is_only_logged(self, out):
        """As ever; nothing of it is saved."""
        hook = smd.Hook(out, save_config=EVERY_STEP)
        net = a_net()
        for one in (net, net, object()):
            hook.register_block(one)
        train(net)
        hook.close()

        assert 0 == hook.step

    def test_training_is_the_same_with_it(self, out):
        """Bit for bit."""
        without, _ = train(a_net(), steps=3)
        hook = smd.Hook(out, save_config=EVERY_STEP, save_all=True)
        net = a_net()
        hook.register_block(net)
        within, _ = train(net, steps=3)

        np.testing.assert_array_equal(without, within)


class TestHookOfProcess:
    def test_one_is_made_of_a_configuration(self, tmp_path, monkeypatch):
        """Where nothing tells of one there is none; later the same is returned."""
        monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
        assert smd.get_hook() is None
        file = tmp_path / "hook.json"
        file.write_text(json.dumps({"LocalPath": str(tmp_path / "run")}))

        assert smd.get_hook(str(file)) is smd.get_hook()


class TestNotebook:
    @pytest.mark.parametrize(
        ("script", "command"),
        [(HOOKED, ()), (PLAIN, ("-m", "stepwatch", "run"))],
        ids=["a hook in the script", "stepwatch run"],
    )
    def test_what_a_notebook_of_smdebug_asks_for_is_there(self, tmp_path, script, command):
        """The script prints what it prints without us, and the cells find what they look for."""
        (tmp_path / "train.py").write_text(script)
        (tmp_path / "plain.py").write_text(PLAIN)
        config = {**CONFIG, "LocalPath": str(tmp_path / "run")}
        (tmp_path / "hook.json").write_text(json.dumps(config))
        told = {"SMDEBUG_CONFIG_FILE_PATH": str(tmp_path / "hook.json")}
        plain = run(tmp_path, "plain.py", *ARGUMENTS)
        hooked = run(tmp_path, *command, "train.py", *ARGUMENTS, told=told)
        assert (0, plain.stdout) == (hooked.returncode, hooked.stdout), hooked.stderr

        found = {"path": str(tmp_path / "run")}
        exec(CELLS, found)
        expected = ("bias", "input_0", "output_0", "relu_input_0", "relu_output_0", "weight")
        gradients = ["gradient/conv0_bias", "gradient/conv0_weight"]
        assert [*(f"conv0_{end}" for end in expected), *gradients] == found["names"]
        assert {(24, 24)} == {image.shape for image in found["images"]}
        assert (6, (5, 5)) == (len(found["kernels"]), found["kernels"][0][0].shape)
        assert len(found["rendered_steps"]) >= 4


def run(folder, *command, told=None):
    environment = {**os.environ, **(told or {})}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
