"""The import name ``sagemaker_debugger``."""

from __future__ import annotations

import os

import pytest
import torch
from torch import nn

import sagemaker_debugger
import smdebug.pytorch as smd
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import open_store


@pytest.fixture(autouse=True)
def no_hook_left(monkeypatch, tmp_path):
    """A hook is the one of its process until it is let go."""
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "missing.json"))
    smd.del_hook()
    yield
    smd.del_hook()


def saved_names(folder) -> dict[int, list[str]]:
    """Return what was saved at each step."""
    reader = SmdebugReader(open_store(folder))
    reader.refresh()
    found = {step: reader.saved("worker_0", step) for step in range(10)}
    return {step: list(one.contents.byte_ranges) for step, one in found.items() if one is not None}


class TestSaveTensor:
    def test_it_saves_with_the_hook_that_is_there(self, tmp_path):
        """In the collection whose pattern finds the name, which has a part of the path in it."""
        hook = smd.Hook(
            tmp_path / "run",
            save_config=smd.SaveConfig(save_interval=1),
            include_collections=["output_tensors"],
        )
        hook.get_collection("output_tensors").include("epoch")
        net = nn.Linear(10, 2)
        hook.register_module(net)
        for i in range(2):
            output = net(torch.ones(1, 10))
            path = os.path.join("/opt/ml/output/tensors", f"epoch_0_i_{i}")
            sagemaker_debugger.save_tensor(output, "output_tensor", path)
        hook.close()

        expected = {0: ["epoch_0_i_0/output_tensor"], 1: ["epoch_0_i_1/output_tensor"]}
        assert expected == saved_names(tmp_path / "run")

    def test_it_makes_a_hook_if_there_is_none(self, tmp_path):
        """The first model that runs from then on gives the steps."""
        net = nn.Linear(10, 2)
        for i in range(3):
            output = net(torch.ones(1, 10))
            sagemaker_debugger.save_tensor(output, "out", tmp_path / "run" / f"epoch_{i}")
        smd.get_hook().close()

        found = saved_names(tmp_path / "run")
        assert {"epoch_0/out", "epoch_1/out"} == set(found[0])
        assert "epoch_2/out" in found[1]

    def test_a_name_without_a_path_is_the_name(self, tmp_path):
        """Nothing stands before it."""
        hook = smd.Hook(tmp_path / "run")
        sagemaker_debugger.save_tensor([1.0, 2.0], "mine")
        hook.close()

        assert {0: ["mine"]} == saved_names(tmp_path / "run")
