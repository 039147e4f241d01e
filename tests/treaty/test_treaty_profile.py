"""What the real smdebug profiles, our analysis tells as its own does, by the same names."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stepwatch import open_profile
from tests.support.treaty.real_smdebug import ask

# Importing the real one and its pandas takes most of the time, on a busy machine a minute.
pytestmark = [pytest.mark.treaty, pytest.mark.timeout(600)]

# Trains a small net with a profiler; then lays readings of a GPU beside, of the same minutes.
TRAIN = """
import json, os, sys
place = sys.argv[1]
python = {"StartStep": 2, "NumSteps": 2, "ProfilerName": "cprofile", "cProfileTimer": "total_time"}
parameters = {"LocalPath": place, "PythonProfilingConfig": json.dumps(python)}
with open(place + "/profilerconfig.json", "w") as file:
    json.dump({"ProfilingParameters": parameters}, file)
os.environ["SMPROFILER_CONFIG_PATH"] = place + "/profilerconfig.json"
import torch
import smdebug.pytorch as smd

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
loss = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
hook = smd.Hook(out_dir=place + "/tensors", save_config=smd.SaveConfig(save_interval=100))
hook.register_module(net)
hook.register_loss(loss)
for mode, steps in ((smd.modes.TRAIN, 6), (smd.modes.EVAL, 2)):
    hook.set_mode(mode)
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(net(torch.randn(4, 8)), torch.randint(0, 2, (4,)))
        if mode == smd.modes.TRAIN:
            value.backward()
            optimizer.step()
hook.close()

hours = place + "/framework/pevents/"
(name,) = os.listdir(hours + os.listdir(hours)[0])
minute = (int(name[:16]) // 10**6 - 30) // 60 * 60
os.makedirs(place + "/system/incremental/2026112207")
with open(f"{place}/system/incremental/2026112207/{minute}.algo-1.json", "w") as file:
    for number in range(200):
        row = {"Type": "gpu", "Name": "gpu0", "Dimension": "GPUUtilization",
               "Value": number / 2, "NodeId": "algo-1", "Timestamp": minute + number / 2}
        file.write(json.dumps(row) + chr(10))
print(0)
"""
# The same questions to both.
QUESTIONS = """
import contextlib, io, json, os, sys
from smdebug.profiler.analysis.python_profile_analysis import cProfileAnalysis
from smdebug.profiler.analysis.utils.pandas_data_analysis import PandasFrameAnalysis, StatsBy
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame

def rows(frame, columns):
    return sorted([[str(value) for value in row] for row in frame[columns].values.tolist()])

with contextlib.redirect_stdout(io.StringIO()):
    frame = PandasFrame(sys.argv[1])
    system, framework = frame.get_all_system_metrics(), frame.get_all_framework_metrics()
    took = framework["end_time_us"] - framework["start_time_us"]
    framework["took"] = took.round().astype(int)
    analysis = PandasFrameAnalysis(system, framework)
    python = cProfileAnalysis(sys.argv[1] + "/framework/pytorch/cprofile")
    calls = python.fetch_profile_stats_by_step(2, 3).function_stats_list
    told = {
        "system": rows(system, ["timestamp", "value", "system_metric", "dimension", "type"]),
        "framework": rows(framework, ["framework_metric", "step", "process", "nodeID", "took"]),
        "steps": analysis.get_step_statistics(StatsBy.TRAINING_PHASE).round().values.tolist(),
        "phases": analysis.get_step_statistics(StatsBy.PROCESS).round().values.tolist(),
        "calls": sorted([one.function_name, one.total_calls] for one in calls),
        "listed": rows(python.list_profile_stats(), ["start_mode", "start_step", "end_mode"]),
        "nodes": python.list_available_node_ids(),
    }
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """A profile that the real smdebug wrote; its paths lose their capitals."""
    place = tmp_path_factory.mktemp("profiled")
    assert str(place) == str(place).lower()
    ask(TRAIN, place, seconds=300)
    return place


def test_the_analysis_answers_as_the_real_one(profiled):
    """Frames, statistics of steps, and what Python's profiler wrote."""
    ran = subprocess.run(
        [sys.executable, "-c", QUESTIONS, str(profiled)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    ours, theirs = json.loads(ran.stdout), ask(QUESTIONS, profiled, seconds=300)

    assert theirs.keys() == ours.keys()
    for question, answer in theirs.items():
        assert answer == ours[question], question
    assert 48 == len(theirs["framework"])


def test_the_steps_are_those_of_the_training(profiled):
    """By mode and number, with the time of their forward."""
    profile = open_profile(profiled)
    steps = profile.steps().to_pylist()

    expected = [("TRAIN", number) for number in range(6)] + [
        ("EVAL", number) for number in range(2)
    ]
    assert expected == [(row["mode"], row["step"]) for row in steps]
    assert [] == profile.notes
