"""``check``, ``profile`` and ``report`` take a profile that SageMaker left by itself."""

from __future__ import annotations

import json
import shutil

import pytest

from stepwatch.judge.rule import PROFILE_RULES
from stepwatch.testing import make_run

MINUTE_S = 1_591_160_640


@pytest.fixture
def job(tmp_path):
    """What a job left whose hook was off: readings of a GPU, and two steps."""
    files = tmp_path / "job" / "profiler-output"
    system = files / f"system/incremental/2020060305/{MINUTE_S}.algo-1.json"
    timeline = files / f"framework/pevents/2020060305/{MINUTE_S}900000_88-a_pythontimeline.json"
    for path, data in ((system, "\n".join(map(reading, range(4)))), (timeline, steps())):
        path.parent.mkdir(parents=True)
        path.write_text(data)
    return tmp_path / "job"


def reading(number):
    row = {"Type": "gpu", "Name": "gpu0", "Dimension": "GPUUtilization", "Value": 10.0 * number,
           "NodeId": "algo-1", "Timestamp": MINUTE_S + number / 2}  # fmt: skip
    return json.dumps(row)


def steps():
    began = {"start_time_since_epoch_in_micros": MINUTE_S * 1_000_000}
    name = "Step:ModeKeys.TRAIN"
    rows = [{"name": "process_name", "ph": "M", "pid": 0, "args": began},
            {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": name}}]  # fmt: skip
    for number in range(2):
        when = {"ph": "X", "pid": 1, "ts": 400_000 * number, "dur": 400_000}
        rows.append({"name": name, **when, "args": {"step_num": str(number)}})
    return json.dumps(rows)


def test_its_times_and_devices_are_shown(verb, job):
    """As those of a run of ours."""
    status, out, _ = verb("profile", job / "profiler-output", "--json")
    found = json.loads(out)

    assert (0, 2, 400.0) == (status, found["steps"][0]["count"], found["steps"][0]["mean_ms"])
    assert [15.0] == [device["mean"] for device in found["devices"]]


def test_the_rules_on_profiles_judge_it(verb, job):
    """It holds nothing for the others; and nobody is awaited, so it is not taken to run."""
    status, out, _ = verb("check", job / "profiler-output", "--json")
    found = json.loads(out)

    assert (0, "finished", 0) == (status, found["state"], found["steps"])
    assert set(PROFILE_RULES) == {rule["rule"] for rule in found["rules"]}


def test_the_same_rules_judge_many(verb, job, tmp_path):
    copies = [tmp_path / f"job-{number}" for number in range(9)]
    for copy in copies:
        shutil.copytree(job / "profiler-output", copy)
    _, out, _ = verb("check", *copies, "--json")

    judged = [{rule["rule"] for rule in one["rules"]} for one in json.loads(out)["runs"]]
    assert [set(PROFILE_RULES)] * 9 == judged


def test_rules_that_are_asked_for_judge_it(verb, job):
    """With what it says of each."""
    asked = "low_gpu_utilization:window=2,patience=2; loss_spike"
    status, out, _ = verb("check", job / "profiler-output", "--rules", asked)

    assert 1 == status
    assert "algo-1/gpu0: p95 is" in out
    assert "1 found something, 1 lacked data" in out


def test_its_report_is_that_of_the_profiler(verb, job):
    """What suits it."""
    _, out, _ = verb("report", job / "profiler-output", "--json")

    assert "profiler" == json.loads(out)["kind"]


def test_nothing_is_asked_of_a_training_that_is_over(refused, job):
    """And nothing is written there."""
    assert "only a run that trains" in refused("profile", job / "profiler-output", "--trace", "2")
    assert {"system", "framework"} == {path.name for path in (job / "profiler-output").iterdir()}


def test_a_folder_that_is_neither_is_refused(refused, job):
    """A folder of a program, say, of whatever name; or a job, whose tensors may lie beside it."""
    (job / "other" / "system").mkdir(parents=True)
    (job / "other" / "system" / "notes.json").write_text("{}")

    for place in (job / "other", job):
        for name in ("check", "profile", "report"):
            assert "no profile of SageMaker's" in refused(name, place)


def test_a_run_in_the_same_check_is_judged_as_runs_are(verb, job, tmp_path):
    """By the default rules, then also the profile: rules are the same for all."""
    make_run(tmp_path / "run", steps=3)
    _, out, _ = verb("check", tmp_path / "run", job / "profiler-output", "--json")

    (run, profile) = json.loads(out)["runs"]
    assert [rule["rule"] for rule in run["rules"]] == [rule["rule"] for rule in profile["rules"]]
    assert "loss_spike" in {rule["rule"] for rule in run["rules"]}
