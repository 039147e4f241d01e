"""The real smdebug reads a hook configuration as we do."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from stepwatch.model.steps import Mode
from stepwatch_smdebug.config.hook_config import read_hook_config
from stepwatch_smdebug.plan import DebuggerPlan

# Prints, for every configuration: of each mode, step and tensor, what the real one saves.
_REAL = """
import json, os, sys
import smdebug.pytorch as smd
from smdebug.core.json_config import create_hook_from_json_config
asked = json.load(sys.stdin)
answers = []
for path in asked["paths"]:
    hook = create_hook_from_json_config(smd.Hook, path)
    hook._prepare_collections()
    seen = []
    for mode in asked["modes"]:
        hook.mode = smd.modes[mode]
        for step in asked["steps"]:
            hook.mode_steps[hook.mode] = step
            hook._collections_to_save_for_step = None
            due = hook._get_collections_to_save_for_step()
            for tensor in asked["tensors"]:
                of = [c for c in hook._get_collections_with_tensor(tensor) if c in due]
                seen.append(sorted({json.dumps(c.reduction_config.to_json_dict()) for c in of}))
    answers.append({"seen": seen, "out_dir": hook.out_dir, "tensorboard": hook.tensorboard_dir,
        "included": sorted(hook.include_collections), "all_workers": hook.save_all_workers,
        "histograms": sorted(c.name for c in hook.collection_manager.get_collections().values()
                             if c.save_histogram)})
print(json.dumps(answers))
sys.stdout.flush()
os._exit(0)
"""
TENSORS = (
    "Net_fc1.weight",
    "Net_fc1.bias",
    "gradient/Net_fc1.weight",
    "CrossEntropyLoss_output_0",
    "CrossEntropyLoss_input_0",
    "act_output_0",
)
STEPS = (0, 1, 2, 3, 4, 5, 7, 9, 10, 12, 20, 60, 99, 100, 500)
PREFIXES = ("", "", "train.", "eval.", "predict.", "global.")
REDUCTIONS = ("min", "max", "mean", "std", "variance", "sum", "prod", "l1_norm", "l2_norm")


def a_setting(chance: random.Random) -> dict[str, object]:
    """Return one setting of when to save, as a number or as text."""
    key = chance.choice(("save_interval", "start_step", "end_step", "save_steps"))
    value: object = chance.choice((1, 2, 3, 5, 10, 20))
    if key == "save_steps":
        value = ", ".join(str(chance.randrange(12)) for _ in range(chance.randrange(1, 4)))
    elif chance.random() < 0.5:
        value = str(value)
    return {chance.choice(PREFIXES) + key: value}


def some_settings(chance: random.Random) -> dict[str, object]:
    """Return settings that a hook and a collection share."""
    settings: dict[str, object] = {}
    for _ in range(chance.randrange(4)):
        settings |= a_setting(chance)
    if chance.random() < 0.4:
        names = [chance.choice(("", "abs_")) + one for one in chance.sample(REDUCTIONS, 3)]
        settings["reductions"] = ",".join(names)
        settings |= chance.choice(({}, {"save_raw_tensor": True}, {"save_shape": True}))
    return settings


def a_config(chance: random.Random, folder: Path) -> dict[str, object]:
    """Return a hook configuration that the real smdebug takes."""
    hook = some_settings(chance)
    hook |= chance.choice(({}, {"save_all": chance.choice((True, "true", "False"))}))
    hook |= chance.choice(({}, {"include_regex": "act, fc1"}))
    hook |= chance.choice(({}, {"include_workers": chance.choice(("all", "one"))}))
    hook |= chance.choice(({}, {"export_tensorboard": "true"}, {"tensorboard_dir": "/tmp/board"}))
    collections = []
    for name in chance.sample(("weights", "biases", "gradients", "losses", "own", "other"), 3):
        settings = some_settings(chance)
        if name in ("own", "other") or chance.random() < 0.2:
            settings["include_regex"] = chance.choice(("relu,act", "Net_.*", "Loss"))
        settings |= chance.choice(({}, {"save_histogram": chance.choice((True, "False"))}))
        collections.append({"CollectionName": name, "CollectionParameters": settings or None})
    config: dict[str, object] = {"LocalPath": str(folder), "S3OutputPath": "s3://bucket/out"}
    config["HookParameters"] = hook or None
    return config | chance.choice(({}, {"CollectionConfigurations": collections}))


def ours(path: str) -> dict[str, object]:
    """Return what our reading saves, in the words of the real one."""
    config = read_hook_config(path, {})
    plan = DebuggerPlan(config)
    seen = []
    for mode in Mode:
        for step in STEPS:
            due = plan.due(mode, step)
            for tensor in TENSORS:
                of = [one for one in plan.members(tensor) if one.name in due]
                seen.append(sorted({json.dumps(stored_json(one.stored)) for one in of}))
    return {
        "seen": seen,
        "out_dir": config.run,
        "tensorboard": config.tensorboard,
        "included": sorted(config.included),
        "all_workers": config.all_workers,
        "histograms": sorted(one.name for one in config.collections if one.histogram),
    }


def stored_json(stored) -> Mapping[str, object]:
    """Return what a collections file says of what is stored."""
    return {
        "save_raw_tensor": stored.raw,
        "reductions": ",".join(one.text for one in stored.reductions),
        "save_shape": stored.shape,
    }


@pytest.mark.treaty
class TestTheRealOneReadsItTheSame:
    def test_forty_configurations_save_the_same_of_every_tensor_at_every_step(self, tmp_path):
        """Whatever valid configuration: the same steps, reductions, folders and workers."""
        paths = []
        for number in range(40):
            path = tmp_path / f"{number}.json"
            config = a_config(random.Random(number), tmp_path / f"out{number}")
            path.write_text(json.dumps(config))
            paths.append(str(path))
        asked = {"paths": paths, "modes": [mode.value for mode in Mode]}
        asked |= {"steps": STEPS, "tensors": TENSORS}
        told = subprocess.run(
            [os.environ["STEPWATCH_TREATY_PYTHON"], "-c", _REAL],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"SMDEBUG_LOG_LEVEL": "critical"},
        )

        real = json.loads(told.stdout.splitlines()[-1])

        assert real == [ours(path) for path in paths]
