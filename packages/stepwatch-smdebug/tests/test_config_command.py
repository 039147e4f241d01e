"""A script with an smdebug hook of its own, run by the command that would bring one along."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from smdebug.trials import create_trial
from stepwatch import Trial
from stepwatch.model.steps import Mode
from tests.support import fork_server

SCRIPT = """\
import torch
import smdebug.pytorch as smd
torch.manual_seed(0)
torch.set_num_threads(1)
hook = smd.Hook.create_from_json_file()
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
loss_of, optimizer = torch.nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.01)
hook.register_module(model)
hook.register_loss(loss_of)
hook.get_collection("losses").save_config.end_step = 5
for step in range(9):
    optimizer.zero_grad()
    loss_of(model(torch.randn(16, 4)), torch.ones(16, 1)).backward()
    optimizer.step()
"""


BY_HAND = """\
import os
import torch
import sagemaker_debugger
torch.set_num_threads(1)
model = torch.nn.Linear(4, 1)
for i in range(3):
    output = model(torch.ones(1, 4))
    place = os.path.join("/opt/ml/output/tensors", f"epoch_1_i_{i}")
    sagemaker_debugger.save_tensor(output, "output_tensor", place)
"""


def run(folder, document, script):
    """Run a script by the command, with a hook configuration; return what became of it."""
    (folder / "hook.json").write_text(json.dumps(document))
    (folder / "train.py").write_text(script)
    return fork_server.run(
        [Path(sys.executable).with_name("stepwatch"), "run", "train.py"],
        cwd=folder,
        env=os.environ | {"SMDEBUG_CONFIG_FILE_PATH": "hook.json"},
        capture_output=True,
        text=True,
        timeout=100,
    )


class TestStepwatchRun:
    @pytest.mark.slow
    def test_the_hook_of_the_script_is_the_one_that_saves(self, tmp_path):
        """It reads the same file, may change what it says, and nobody is in its way."""
        document = {"LocalPath": "out", "HookParameters": {"save_interval": "2"}}
        told = run(tmp_path, document, SCRIPT)
        trial = Trial(tmp_path / "out")

        assert (0, [0, 2, 4]) == (
            told.returncode,
            trial.tensor("MSELoss_output_0").steps(Mode.GLOBAL),
        ), told.stderr
        assert "the script has a hook of its own, which saves" in told.stderr

    @pytest.mark.slow
    def test_a_tensor_saved_by_hand_goes_to_the_hook_of_the_command(self, tmp_path):
        """The script knows of no hook; its collection finds each by its name, at every step."""
        collection = {
            "CollectionName": "output_tensors",
            "CollectionParameters": {"include_regex": "epoch"},
        }
        document = {
            "LocalPath": "out",
            "HookParameters": {"save_interval": "1"},
            "CollectionConfigurations": [collection],
        }
        told = run(tmp_path, document, BY_HAND)
        assert 0 == told.returncode, told.stderr
        trial = create_trial(str(tmp_path / "out"))
        names = [f"epoch_1_i_{i}/output_tensor" for i in range(3)]
        assert names == trial.tensor_names(collection="output_tensors"), told.stderr
        assert [[0], [1], [2]] == [trial.tensor(name).steps() for name in names]
