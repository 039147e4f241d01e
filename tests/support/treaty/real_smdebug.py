"""Asks the real smdebug, in the environment that ``make test-treaty`` makes for it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy.typing as npt

_ENVIRONMENT = {
    "SMDEBUG_LOG_LEVEL": "critical",
    "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0",
    "OMP_NUM_THREADS": "1",
}


def interpreter() -> str:
    """Return the Python that has the real smdebug; there is no test of the treaty without it."""
    try:
        return os.environ["STEPWATCH_TREATY_PYTHON"]
    except KeyError:
        raise RuntimeError(
            "$STEPWATCH_TREATY_PYTHON names no Python with smdebug; run: make test-treaty"
        ) from None


def ask(script: str, *arguments: str | Path, seconds: float = 100) -> Any:
    """Run a script under the real smdebug and return what it printed as JSON, on its last line."""
    ran = subprocess.run(
        [interpreter(), "-W", "ignore", "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, **_ENVIRONMENT},
    )
    if ran.returncode:
        raise RuntimeError(f"the real smdebug failed: {ran.stderr[-2000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def told(array: npt.NDArray[Any]) -> list[Any]:
    """Return dtype, shape and elements as the scripts tell them: exactly, nan included."""
    kind = "text" if array.dtype.kind == "U" else str(array.dtype)
    return [kind, list(array.shape), [repr(element) for element in array.ravel().tolist()]]


#: Begins a script: ``told``, for the other side.
TOLD = """
import json, sys
import numpy as np
def told(array):
    array = np.asarray(array)
    kind = "text" if array.dtype.kind == "U" else str(array.dtype)
    return [kind, list(array.shape), [repr(element) for element in array.ravel().tolist()]]
"""

#: Prints what the real Trial says of some runs; the arguments are their folders.
ANSWERS = (
    TOLD
    + """
from smdebug.trials import create_trial
from smdebug import modes
from smdebug.exceptions import ShapeUnavailableForStep, TensorUnavailableForStep

def number(key):
    return [key[0], bool(key[1])]

def of_tensor(tensor, step, worker):
    found = {}
    try:
        found["shape"] = list(tensor.shape(step, worker=worker))
    except ShapeUnavailableForStep:
        found["shape"] = None
    try:
        found["value"] = told(tensor.value(step, worker=worker))
    except TensorUnavailableForStep:
        found["value"] = None
    numbers = tensor.reduction_values(step, worker=worker) or {}
    found["reductions"] = {
        ("abs_" if of_abs else "") + name: told(value) for (name, of_abs), value in numbers.items()
    }
    return found

def of_trial(path):
    path, _, window = path.partition("?")
    trial = create_trial(path, range_steps=tuple(map(int, window.split(","))) if window else None)
    tensors = {}
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for step in tensor.steps():
            for worker in tensor.workers(step):
                tensors[f"{name} {step} {worker}"] = of_tensor(tensor, step, worker)
    return {
        "steps": {mode.name: trial.steps(mode=mode) for mode in modes},
        "workers": trial.workers(),
        "collections": {
            name: sorted(one.tensor_names) for name, one in trial.collections().items()
        },
        "ended": trial.loaded_all_steps,
        "tensors": tensors,
    }

print(json.dumps([of_trial(path) for path in sys.argv[1:]]))
"""
)
