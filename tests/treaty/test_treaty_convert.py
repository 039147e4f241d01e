"""The real smdebug says of a run that was converted there and back what it said of the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.formats.convert import convert
from stepwatch.store import open_store
from tests.support.formats.smdebug.golden_runs import RUNS, golden_run
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_end, put_step
from tests.support.treaty.real_smdebug import TOLD, ask

pytestmark = pytest.mark.treaty

DEVICES = [f"/job:worker/replica:0/task:0/device:GPU:{number}" for number in range(2)]
# All that the API of a trial answers, errors included.
EVERY_ANSWER = (
    TOLD
    + """
import shutil, tempfile
from smdebug.trials import create_trial
from smdebug import modes

def asked(question):
    try:
        return question()
    except Exception as error:
        return type(error).__name__

def of_worker(tensor, step, worker):
    names = ["min", "max", "mean", "std", "variance", "sum", "prod", "l1", "l2"]
    return {
        "value": asked(lambda: told(tensor.value(step, worker=worker))),
        "shape": asked(lambda: list(tensor.shape(step, worker=worker))),
        "reductions": asked(lambda: {
            str(key): told(value)
            for key, value in (tensor.reduction_values(step, worker=worker) or {}).items()
        }),
        "each": {
            f"{name} {of_abs}": asked(
                lambda: told(tensor.reduction_value(step, name, worker=worker, abs=of_abs))
            )
            for name in names
            for of_abs in (False, True)
        },
    }

def of_tensor(tensor):
    return {
        "original": tensor.original_name,
        "steps": {mode.name: tensor.steps(mode=mode) for mode in modes},
        "at": {
            step: {worker: of_worker(tensor, step, worker) for worker in tensor.workers(step)}
            for step in tensor.steps(show_incomplete_steps=True)
        },
    }

def of_trial(path):
    trial = create_trial(path)
    trial.steps()
    every = trial.steps(show_incomplete_steps=True)
    return {
        "steps": {mode.name: trial.steps(mode=mode) for mode in modes},
        "incomplete": every,
        "modes": sorted(mode.name for mode in trial.modes()),
        "at": {step: [trial.mode(step).name, trial.mode_step(step)] for step in every},
        "workers": trial.workers(),
        "num_workers": trial.num_workers,
        "ended": trial.loaded_all_steps,
        "last_complete_step": trial.last_complete_step,
        "passed": {step: trial.has_passed_step(step).name for step in range(12)},
        "names": trial.tensor_names(),
        "prefixed": trial.tensor_names(show_prefixed_tensors=True),
        "collections": {
            name: [one.to_json_dict(), trial.tensor_names(collection=name)]
            for name, one in trial.collections().items()
        },
        "tensors": {name: of_tensor(trial.tensor(name)) for name in trial.tensor_names()},
    }

print(json.dumps([of_trial(path) for path in sys.argv[1:]]))
"""
)


def write_devices(path) -> None:
    """Write what two devices of TensorFlow saved, by names with slashes and colons."""
    store = open_store(path)
    for worker in DEVICES:
        put_collections(store, worker, num_workers=2)
        for step in range(3):
            values = {
                "w:0": np.float32([step, 1]),
                "smdebug/reductions/l1/v": np.float64([3.0]),
                "smdebug/reductions/std/v": np.float64([0.5]),
            }
            put_step(store, step, values, worker=worker, shapes={"s": [4, 2]})
    put_end(store)


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, tuple[Any, Any]]:
    """What the real Trial says of each run, and of what came back of it."""
    folder = tmp_path_factory.mktemp("converted")
    write_devices(folder / "devices")
    first = {name: golden_run(name) for name in RUNS} | {"devices": folder / "devices"}
    for name, path in first.items():
        native, back = (open_store(folder / where / name) for where in ("native", "back"))
        convert(Trial(path).reader, native, "native")
        assert [] == convert(Trial(native).reader, back, "smdebug").lines()
    paths = [*first.values(), *(folder / "back" / name for name in first)]
    found = ask(EVERY_ANSWER, *paths, seconds=300)
    return dict(zip(first, zip(found[: len(first)], found[len(first) :], strict=True), strict=True))


@pytest.mark.parametrize("name", [*RUNS, "devices"])
def test_every_answer_is_the_same(answers, name):
    """Steps, completeness, names, values, shapes, saved and computed reductions, collections."""
    before, after = answers[name]

    assert before["tensors"]
    assert before == after
