"""One script that asks trials and rules answers the same on the real smdebug and on ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.treaty.real_smdebug import ask

pytestmark = pytest.mark.treaty

#: Makes runs with the real writer, below the folder that it is given.
MAKE = """
import os, sys
from pathlib import Path
import numpy as np
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.modes import ModeKeys as M
from smdebug.core.writer import FileWriter

random = np.random.default_rng(0)
DEVICE = "_job-worker_replica-0_task-1_device-GPU-0"

def collections(place, workers, patterns=(("default", "^t"), ("gradients", "^gradient"))):
    manager = CollectionManager()
    for name, pattern in patterns:
        manager.add(name)
        manager.get(name).include(pattern)
    manager.get("default").add_tensor_name("named")
    manager.set_num_workers(len(workers))
    for worker in workers:
        manager.export(place, worker + "_collections.json")

def run(name, steps, *, workers=("worker_0",), ended=True):
    place = os.path.join(sys.argv[1], name)
    collections(place, workers)
    for step, who, mode, mode_step, tensors, shapes in steps:
        for worker in who:
            with FileWriter(trial_dir=place, step=step, worker=worker) as writer:
                for tensor, value in tensors.items():
                    writer.write_tensor(tdata=value, tname=tensor, mode=mode,
                                        mode_step=mode_step, timestamp=1.7e9 + step)
                for tensor, (shape, original) in shapes.items():
                    writer.write_shape(tensor, shape, mode, mode_step, original)
    if ended:
        Path(place, "training_job_end.ts").touch()

def step(number, who=("worker_0",), mode=M.GLOBAL, mode_step=None, tensors=None, shapes=None):
    if tensors is None:
        tensors = {"t": np.float32([number, 1])}
    return (number, who, mode, number if mode_step is None else mode_step, tensors, shapes or {})

both, first = ("worker_0", "worker_1"), ("worker_0",)
partial = [step(0, both), step(1, both), step(2, first), step(3, first)]
run("partial_running", partial, workers=both, ended=False)
run("partial_ended", partial, workers=both)
run("gap_later_complete", [step(0, both), step(2, first), step(3, both)], workers=both, ended=False)
run("one_worker_running", [step(0), step(5), step(1001)], ended=False)
run("sparse", [step(number) for number in (3, 500, 1000, 2500)])
run("device_worker", [step(5, (DEVICE,))], workers=(DEVICE,))
modes = [M.TRAIN, M.TRAIN, M.EVAL, M.PREDICT]
counts = dict.fromkeys(M, -1)
several = []
for number in range(12):
    mode = modes[number % 4]
    counts[mode] += 1
    if number % 3 != 2:
        several.append(step(number, mode=mode, mode_step=counts[mode], tensors={
            "t_" + mode.name: random.normal(size=4).astype(np.float32),
            "gradient/all": random.normal(size=(2, 3, 2)).astype(np.float32),
            "named": 1.5,
        }))
run("several_modes", several)
prefix = "smdebug/reductions/"
run("reduced", [step(number, tensors={
    prefix + "mean/gradient/a": np.array(number + 0.5, np.float32),
    prefix + "abs_l2/gradient/a": np.array(number + 1.5, np.float32),
    prefix + "std/gradient/b": np.array([0.25]),
    "matrix": np.float32([[1, 2]]),
}, shapes={"gradient/a": ([3, 4], "gradients/a:0"), "shaped": ([], "")}) for number in (0, 7)])
run("only_shapes", [step(0, tensors={}, shapes={"t": ([2, 2], "t:0")})])
run("inputs", [step(4, tensors={"labels_0": 1, "labels_10": 3, "labels_2": 2, "predictions": 9})])
print("{}")
"""

#: Asks a run everything, with what both packages import alike.
ASK = """
import json, sys
import numpy as np
from smdebug import modes
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import create_trial

def told(ask):
    try:
        found = ask()
    except Exception as error:
        names = [one.__name__ for one in type(error).__mro__ if one.__name__ in KNOWN]
        last = getattr(error, "last_step", None) if names[:1] == ["NoMoreData"] else None
        return {"error": names[:1], "step": getattr(error, "step", None), "last": last}
    return plain(found)

KNOWN = {"TensorUnavailableForStep", "StepUnavailable", "StepNotYetAvailable", "TensorUnavailable",
         "ShapeUnavailableForStep", "InvalidWorker", "NoMoreData", "ValueError",
         "RuleEvaluationConditionMet"}

def plain(found):
    if isinstance(found, np.ndarray):
        return {"dtype": str(found.dtype), "shape": list(found.shape), "value": found.tolist()}
    if isinstance(found, np.generic):
        return float(found)
    if isinstance(found, dict):
        return {str(key): plain(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    return getattr(found, "name", found)

def of_tensor(trial, name, ended):
    tensor = trial.tensor(name)
    said = {"original": tensor.original_name}
    for mode in modes:
        said[mode.name] = plain([tensor.steps(mode), tensor.steps(mode, True)])
        if ended:
            said["prev " + mode.name] = [tensor.prev_steps(7, n, mode) for n in (None, 1, 3)]
    for step in STEPS:
        for mode in modes:
            key = "%s %s " % (mode.name, step)
            said[key + "value"] = told(lambda: tensor.value(step, mode))
            said[key + "shape"] = told(lambda: tensor.shape(step, mode))
            said[key + "workers"] = told(lambda: sorted(tensor.workers(step, mode)))
            said[key + "saved"] = told(lambda: tensor.reduction_values(step, mode))
            said[key + "wrong worker"] = told(lambda: tensor.value(step, mode, worker="nobody"))
            for reduction in ("min", "max", "mean", "std", "variance", "sum", "prod"):
                for of_abs in (False, True):
                    said[key + reduction + str(of_abs)] = told(
                        lambda: tensor.reduction_value(step, reduction, mode, abs=of_abs))
            if name == "t" or name.startswith("t_"):  # of one axis, on whose norms all agree
                said[key + "norms"] = [
                    told(lambda: tensor.reduction_value(step, norm, mode)) for norm in ("l1", "l2")]
    if ended and "error" not in told(lambda: tensor.value(tensor.steps()[0])):
        said["no such reduction"] = told(
            lambda: tensor.reduction_value(tensor.steps()[0], "nosuch"))
    if ended:
        said["values"] = told(lambda: tensor.values())
    return said

class Seeing(Rule):
    def __init__(self, base_trial, name):
        super().__init__(base_trial, "")
        self.name, self.seen = name, []
    def set_required_tensors(self, step):
        self.req_tensors.add(self.name, [step])
    def invoke_at_step(self, step):
        self.seen.append([step, float(self.base_trial.tensor(self.name).value(step).ravel()[0])])
        return len(self.seen) == 2

def of_rule(trial, name, **how):
    rule = Seeing(trial, name)
    return [told(lambda: invoke_rule(rule, **how)), rule.seen]

def answers(path):
    trial = create_trial(path)
    trial.steps()
    ended = trial.loaded_all_steps
    said = {
        "ended": ended, "workers": trial.workers(), "num_workers": trial.num_workers,
        "last_complete": trial.last_complete_step, "modes": sorted(m.name for m in trial.modes()),
        "collections": sorted(trial.collections()), "names": trial.tensor_names(),
        "by regex": [trial.tensor_names(regex=one) for one in ("^t", ["named", "grad"], "nosuch")],
        "by collection": {c: trial.tensor_names(collection=c) for c in ("default", "gradients")},
        "both": told(lambda: trial.tensor_names(regex="a", collection="default")),
        "unknown": [trial.has_tensor("nosuch"), told(lambda: trial.tensor("nosuch"))],
    }
    if not ended:  # smdebug's stays behind then
        said["token"] = str(trial.last_index_token).replace(path, "")
    for mode in modes:
        said["steps " + mode.name] = [trial.steps(mode), trial.steps(mode, True)]
        said["passed " + mode.name] = [plain(trial.has_passed_step(s, mode)) for s in STEPS]
        said["global " + mode.name] = [trial.global_step(mode, step) for step in STEPS]
        if mode is modes.GLOBAL or trial.steps(mode, True):  # smdebug raises by accident
            said["names " + mode.name] = trial.tensor_names(mode=mode)
            said["at " + mode.name] = [
                trial.tensor_names(step=step, mode=mode) for step in trial.steps(mode, True)]
        if ended:
            said["wait " + mode.name] = [
                told(lambda: trial.wait_for_steps([step], mode)) for step in STEPS]
    said["modesteps"] = [plain(trial.mode_modestep(step)) for step in STEPS]
    said["ranges"] = [
        create_trial(path, range_steps=r).steps() for r in ((1, None), (None, 500), (1, 5))]
    said["tensors"] = {name: of_tensor(trial, name, ended) for name in trial.tensor_names()}
    if ended:
        said["labels"] = told(lambda: trial.labels(trial.steps()[0]))
        said["predictions"] = told(lambda: trial.predictions(trial.steps()[0]))
        name = trial.tensor_names()[0]
        said["rules"] = [of_rule(trial, name), of_rule(trial, name, end_step=3),
                         of_rule(trial, name, start_step=2), of_rule(trial, "nosuch"),
                         of_rule(trial, name, raise_eval_cond=True)]
    return said

STEPS = (0, 1, 2, 3, 4, 5, 7, 8, 500, 1001, 2500, 2501)
print(json.dumps({path: answers(path) for path in sys.argv[1:]}))
"""
RUNS = (
    "partial_running",
    "partial_ended",
    "gap_later_complete",
    "one_worker_running",
    "sparse",
    "device_worker",
    "several_modes",
    "reduced",
    "only_shapes",
    "inputs",
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, object]]:
    """Of every run: what the real smdebug answers, and what we do."""
    folder = tmp_path_factory.mktemp("runs")
    ask(MAKE, folder)
    paths = [folder / name for name in RUNS]
    real = ask(ASK, *paths)
    ours = subprocess.run(
        [sys.executable, "-c", ASK, *map(str, paths)],
        env={**os.environ, "SMDEBUG_LOG_LEVEL": "critical"},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    ).stdout
    told = json.loads(ours)
    return {path.name: (real[str(path)], told[str(path)]) for path in paths}


def without(answer: object, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Return an answer as places and what is told there, so that a difference can be read."""
    if isinstance(answer, dict):
        return [one for key in sorted(answer) for one in without(answer[key], (*path, key))]
    return [(path, json.dumps(answer))]


class TestTreaty:
    @pytest.mark.parametrize("name", RUNS)
    def test_the_same_answers(self, answers, name):
        """Steps, completeness, names, values, reductions, errors and rules."""
        real, ours = (dict(without(answer)) for answer in answers[name])
        differ = {
            place: (real.get(place), ours.get(place))
            for place in real.keys() | ours.keys()
            if real.get(place) != ours.get(place)
        }

        assert {} == differ
