"""smdebug's hook for PyTorch: the one of a process, and what cannot be meant."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import smdebug.pytorch as smd
from smdebug.core.collection import CollectionKeys
from smdebug.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from tests.support.compat.pytorch_hooks import EVERY_STEP, a_net, train


class TestHookOfProcess:
    def test_the_last_one_made_is_the_hook(self, tmp_path):
        """Until it is let go."""
        smd.Hook(str(tmp_path / "a"))
        last = smd.Hook(str(tmp_path / "b"))
        found = smd.get_hook()
        smd.del_hook()

        assert last is found
        assert smd.get_hook() is None

    def test_there_is_none_without_a_configuration(self, monkeypatch, tmp_path):
        """A script that runs elsewhere too asks and gets None."""
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "missing.json"))

        assert smd.get_hook(create_if_not_exists=True) is None

    def test_it_is_made_as_the_environment_says(self, monkeypatch, tmp_path):
        """And is there the next time."""
        (tmp_path / "hook.json").write_text(json.dumps({"LocalPath": str(tmp_path / "run")}))
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
        made = smd.get_hook(create_if_not_exists=True)

        assert str(tmp_path / "run") == made.out_dir
        assert made is smd.get_hook()

    def test_the_environment_can_forbid_it(self, monkeypatch, tmp_path):
        """``USE_SMDEBUG`` says no."""
        smd.Hook(str(tmp_path / "run"))
        monkeypatch.setenv("USE_SMDEBUG", "false")

        assert smd.get_hook() is None

    def test_only_a_hook_can_be_set(self):
        """Anything else is a mistake."""
        with pytest.raises(SMDebugTypeError):
            smd.set_hook(object())


class TestMistakes:
    def test_a_place_where_a_training_ended_is_refused(self, out):
        """Old tensors and new ones would be mixed."""
        smd.Hook(out).close()

        with pytest.raises(SMDebugRuntimeError, match="has ended"):
            smd.Hook(out)

    def test_a_refused_hook_does_not_spoil_the_next(self, out, tmp_path):
        """One mistake is one mistake."""
        smd.Hook(out).close()
        with pytest.raises(SMDebugRuntimeError):
            smd.Hook(out)

        assert -1 == smd.Hook(str(tmp_path / "other")).step

    def test_a_place_is_needed(self):
        """There is no other place to write to."""
        with pytest.raises(SMDebugRuntimeError, match="out_dir"):
            smd.Hook()

    def test_a_mode_is_one_of_four(self, out):
        """Texts are none."""
        with pytest.raises(SMDebugValueError, match=r"modes\.TRAIN"):
            smd.Hook(out).set_mode("train")

    def test_only_modules_are_registered(self, out):
        """And each once."""
        hook, net = smd.Hook(out, save_all=True), a_net()
        with pytest.raises(SMDebugError):
            hook.register_module("net")
        hook.register_module(net)
        with pytest.raises(AssertionError):
            hook.register_module(net)

    def test_only_losses_are_registered_as_losses(self, out):
        """Functions have to be recorded."""
        with pytest.raises(AssertionError, match="record_tensor_value"):
            smd.Hook(out, save_all=True).register_loss(nn.functional.mse_loss)

    def test_a_collection_that_can_hold_nothing_is_told_before_the_first_step(self, out):
        """Whoever made it wants to know."""
        hook, net = smd.Hook(out), a_net()
        hook.get_collection("empty")
        hook.register_module(net)
        with pytest.raises(InvalidCollectionConfiguration, match="empty"):
            net(torch.ones(1, 3))
        hook.get_collection("empty").include("fc")

    def test_an_unknown_collection_can_be_asked_for_without_making_it(self, out):
        """It is an error then."""
        with pytest.raises(SMDebugError, match="nothing_like_it"):
            smd.Hook(out).get_collection("nothing_like_it", create=False)

    def test_only_collections_are_added(self, out):
        """A name is none."""
        with pytest.raises(SMDebugTypeError):
            smd.Hook(out).add_collection("weights")

    def test_a_dry_run_writes_nothing(self, out, tmp_path):
        """It only looks."""
        hook, net = smd.Hook(out, dry_run=True, save_config=EVERY_STEP, save_all=True), a_net()
        hook.register_module(net)
        train(net)
        hook.close()

        assert not (tmp_path / "run").exists()

    def test_built_in_collections_have_their_patterns(self, out):
        """As every script expects."""
        hook = smd.Hook(out, include_regex="relu")

        assert ["relu"] == hook.get_collection(CollectionKeys.DEFAULT).include_regex
        assert ["^gradient"] == hook.get_collections()["gradients"].include_regex


class TestCheckpoints:
    @pytest.mark.parametrize("text", ['{"epoch": 3}', "null", '[{"epoch": 3}]', "[7]", "no json"])
    def test_a_file_of_somebody_else_is_no_state(self, out, tmp_path, monkeypatch, text):
        """The numbers begin at the beginning."""
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checkpoints/metadata.json").write_text(text)
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"LocalPath": str(tmp_path / "checkpoints")}))
        monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(config))

        assert -1 == smd.Hook(out_dir=out).step


class TestDefaultConfiguration:
    def test_a_wrong_call_does_not_end_the_training(self, out):
        """It is logged; a hook that was told what to save raises, for its author to see."""
        hook, net = smd.Hook(out_dir=out), nn.Linear(2, 1)
        hook.register_module(net)
        hook.register_module(net)
        hook.register_loss(nn.functional.mse_loss)
        hook.record_tensor_value("x", 3.0)

        with pytest.raises(AssertionError):
            smd.Hook(out_dir=out, save_all=True).register_loss(nn.functional.mse_loss)
