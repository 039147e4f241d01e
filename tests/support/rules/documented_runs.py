"""Runs as Debugger's documentation has them saved, a faulty and a healthy one for each rule.

They lie as smdebug writes them, with the names of its hooks, and are saved as the documentation of
each rule configures it: every 500 steps, if it says nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepwatch.formats.smdebug.collections import SavedCollection
from stepwatch.model.steps import Mode
from tests.support.compat.debugger_runs import Written

Arrays = Mapping[str, npt.ArrayLike]
LOSS = "CrossEntropyLoss_output_0"
_COLLECTIONS = {
    "weights": ("^(?!gradient).*weight",),
    "biases": ("^(?!gradient).*bias",),
    "gradients": ("^gradient",),
    "losses": ("[Ll]oss_(?!input).*output", "^(train|validation)-.+(?<!(auc|map))$"),
    "relu_output": (".*relu_output",),
    "relu_input": (".*relu_input",),
    "feature_importance": ("^feature_importance/.*",),
    "labels": ("^labels$",),
    "predictions": ("^predictions$",),
    "trees": ("^trees/.*",),
}
_RANDOM = np.random.default_rng(0)
_AROUND = np.linspace(-1, 1, 64).reshape(8, 8)
_IMAGES = _RANDOM.uniform(size=(600, 3, 4, 4))


class Documented(NamedTuple):
    """A rule of SageMaker, its parameters, and runs in which it must find something, or nothing.

    Args:
        rule: Its name.
        faulty: Writes a run to a folder.
        healthy: The same.
        parameters: Those that its documentation says must be given.
    """

    rule: str
    faulty: Callable[[Path], object]
    healthy: Callable[[Path], object]
    parameters: Mapping[str, str] = {}


def save(folder: Path, steps: Iterable[tuple[int, Mode, int, Arrays]]) -> None:
    """Write a run of steps: the global step, its mode, the step within that, and the tensors."""
    collections = [SavedCollection(name, patterns) for name, patterns in _COLLECTIONS.items()]
    run = Written(folder, collections=collections)
    for step, mode, mode_step, arrays in steps:
        run.step(step, arrays, mode=mode, mode_step=mode_step)
    run.end()


def _every(arrays: Sequence[Arrays], folder: Path, *, every: int = 500) -> None:
    """Save a training that said nothing of modes."""
    save(folder, [(n * every, Mode.GLOBAL, n * every, one) for n, one in enumerate(arrays)])


def every(*arrays: Arrays, steps: int = 500) -> Callable[[Path], None]:
    return partial(_every, arrays, every=steps)


def losses(values: Iterable[float], steps: int = 500) -> Callable[[Path], None]:
    return every(*({LOSS: [value]} for value in values), steps=steps)


def _rounds(pairs: Sequence[tuple[float, float]], folder: Path) -> None:
    """Save epochs of 200 steps: training every 100, evaluation, of 20 steps, every 10."""
    steps: list[tuple[int, Mode, int, Arrays]] = []
    for epoch, (train, validation) in enumerate(pairs):
        for n in (0, 100):
            steps.append((epoch * 220 + n, Mode.TRAIN, epoch * 200 + n, {LOSS: [train]}))
        for n in (0, 10):
            at = epoch * 220 + 200 + n
            steps.append((at, Mode.EVAL, epoch * 20 + n, {LOSS: [validation]}))
    save(folder, steps)


def rounds(train: Iterable[float], validation: Iterable[float]) -> Callable[[Path], None]:
    return partial(_rounds, list(zip(train, validation, strict=True)))


def _labelled(labels: Sequence[int], predictions: Sequence[int]) -> Arrays:
    return {"labels": np.array(labels, float), "predictions": np.array(predictions, float)}


def _tree(depth: int) -> Arrays:
    nodes = range(2 ** (depth + 1) - 1)
    inner = [node < 2**depth - 1 for node in nodes]
    sides = ([f"3-{2 * n + k}" if one else "nan" for n, one in zip(nodes, inner, strict=True)]
             for k in (1, 2))  # fmt: skip
    yes, no = (np.array(side) for side in sides)
    return {"trees/ID": np.array([f"3-{n}" for n in nodes]), "trees/Yes": yes, "trees/No": no}


def _importances(*shares: float) -> Arrays:
    held: dict[str, npt.ArrayLike] = {
        f"feature_importance/weight/f{n}": [one] for n, one in enumerate(shares)
    }
    return {**held, **{f"average_shap/f{n}": [0.0] for n in range(10)}}


def _beginning(spread: float, ratio: float, values: Iterable[float]) -> Callable[[Path], None]:
    """Return what saves the first steps: gradients, what goes into activations, and losses."""
    return every(
        *(
            {
                LOSS: [value],
                "gradient/fc_weight": _AROUND * spread,
                "relu1_relu_input_0": _AROUND,
                "relu2_relu_input_0": _AROUND * ratio**0.5,
            }
            for value in values
        ),
        steps=1,
    )


_FALLING = [2.0 * 0.8**n for n in range(12)]
_TEN = [n % 10 for n in range(1000)]
_FOUR_AS_SEVEN = [7 if n == 4 else n for n in _TEN]
_RARE = [int(n < 10) for n in range(1000)]
_WEIGHT = {"fc_weight": _AROUND}
_ZEROS = {"embedding0_input_0": np.r_[np.zeros(75), np.ones(25)]}

DOCUMENTED = [
    Documented(
        "VanishingGradient",
        every({"gradient/fc_weight": _AROUND}, {"gradient/fc_weight": _AROUND * 1e-9}),
        every(*[{"gradient/fc_weight": _AROUND}] * 3),
    ),
    Documented(
        "ExplodingTensor",
        every(_WEIGHT, {"fc_weight": np.where(_AROUND > 0.9, np.inf, _AROUND)}),
        every(_WEIGHT, {"fc_weight": _AROUND * 1e30}),
    ),
    Documented(
        "AllZero",
        every(_WEIGHT, {"fc_weight": _AROUND * 0}),
        every(_WEIGHT, {"fc_weight": np.eye(8)}),
        {"collection_names": "weights", "threshold": "100"},
    ),
    Documented(
        "UnchangedTensor",
        every(*[_WEIGHT] * 3),
        every(*({"fc_weight": _AROUND + n} for n in range(4))),
        {"collection_names": "weights"},
    ),
    Documented(
        "TensorVariance",
        every({"fc_weight": 10 * _AROUND}),
        every(_WEIGHT),
        {"collection_names": "weights", "max_threshold": "10", "min_threshold": "0.00001"},
    ),
    Documented(
        "WeightUpdateRatio",
        every(_WEIGHT, {"fc_weight": 100 * _AROUND}),
        every(_WEIGHT, {"fc_weight": 1.1 * _AROUND}),
        {"num_steps": "100"},
    ),
    Documented(
        "DeadRelu",
        every({"relu1_relu_output_0": np.zeros((64, 16))}),
        every({"relu1_relu_output_0": np.maximum(_RANDOM.normal(size=(64, 16)), 0)}),
    ),
    Documented(
        "SaturatedActivation",
        every({"tanh1_tanh_input_0": 1e4 * _RANDOM.normal(size=(64, 16))}),
        every({"tanh1_tanh_input_0": _RANDOM.normal(size=(64, 16))}),
        {"tensor_regex": ".*tanh_input|.*sigmoid_input"},
    ),
    Documented("LossNotDecreasing", losses([1.0] * 4), losses(_FALLING)),
    Documented("Overfit", rounds([0.5] * 4, [0.6] * 4), rounds([0.5] * 4, [0.52] * 4)),
    Documented("Overtraining", rounds([1.0] * 12, [1.0] * 12), rounds(_FALLING, _FALLING)),
    Documented(
        "PoorWeightInitialization",
        _beginning(1e-5, 1e3, [1.0] * 12),
        _beginning(1.0, 2.0, _FALLING),
    ),
    Documented(
        "ClassImbalance",
        every(_labelled(_RARE, _RARE)),
        every(_labelled(_TEN, _TEN)),
    ),
    Documented(
        "Confusion",
        every(_labelled(_TEN, _FOUR_AS_SEVEN)),
        every(_labelled(_TEN, _TEN)),
        {"category_no": "10"},
    ),
    Documented(
        "SimilarAcrossRuns",
        losses(_FALLING[::-1]),
        losses(_FALLING),
        {"other_trial_0": "the healthy one"},
    ),
    Documented(
        "CheckInputImages",
        every({"hybridsequential0_input_0": _IMAGES}),
        every({"hybridsequential0_input_0": _IMAGES - 0.5}),
    ),
    Documented(
        "NLPSequenceRatio",
        every(_ZEROS),
        every({"embedding0_input_0": np.r_[np.zeros(20), np.ones(80)]}),
    ),
    Documented(
        "FeatureImportanceOverweight",
        every(_importances(7.0, 1.0), _importances(7.0, 1.0), steps=10),
        every(*[_importances(*[1.0] * 10)] * 2, steps=10),
    ),
    Documented("TreeDepth", every(_tree(5)), every(_tree(4))),
]

#: 2023-11-14 22:13:00, when its readings begin, in seconds since the Unix epoch.
START_S = 1_700_000_000 // 60 * 60
N = 1200
_NAMES = {
    "busy": {"cpu": "CPUUtilization", "gpu": "GPUUtilization"},
    "memory": {"gpu": "GPUMemoryUtilization"},
    "iowait": {"cpu": "I/OWaitPercentage"},
}
Readings = Mapping[tuple[str, str], Sequence[float] | npt.NDArray[np.float64]]


def profiled(
    readings: Readings, *, steps: Sequence[float] = (), first_s: float = 0.0, loaders: int = -1
) -> Callable[[Path], None]:
    """Return what writes a profile: readings of devices twice a second, and steps.

    Args:
        readings: By device, such as ``gpu0``, and what was read: ``busy``, ``memory``, ``iowait``.
        steps: How long each took, seconds.
        first_s: When the first began.
        loaders: How many processes loaded data; -1 for nothing about that.
    """
    return partial(_profile, readings, steps, first_s, loaders)


def _profile(
    readings: Readings, steps: Sequence[float], first_s: float, loaders: int, folder: Path
) -> None:
    by_minute: dict[int, list[str]] = {}
    for (device, what), values in readings.items():
        kind = device.rstrip("0123456789")
        for number, value in enumerate(values):
            at = START_S + number / 2
            row = {
                "Type": kind,
                "Dimension": _NAMES[what][kind],
                "Name": device,
                "Value": float(value),
            }
            by_minute.setdefault(int(at) // 60 * 60, []).append(
                json.dumps({**row, "NodeId": "algo-1", "Timestamp": at})
            )
    system = folder / "system" / "incremental" / "2023111422"
    system.mkdir(parents=True)
    for minute, lines in by_minute.items():
        (system / f"{minute}.algo-1.json").write_text("\n".join(lines))
    events: list[dict[str, object]] = []
    at = first_s
    for number, took in enumerate(steps):
        args = {"pid": 88, "step_num": str(number)}
        events.append(_event(1, "Step:ModeKeys.TRAIN", at, took, args))
        if loaders >= 0:
            waits = {"pid": 88, "worker_id": 0}
            events.append(_event(2, "_MultiProcessingDataLoaderIter.next", at, took / 3, waits))
        for worker in range(max(0, loaders)):
            args = {"pid": 90 + worker, "worker_id": worker}
            events.append(_event(3, "DataLoaderWorker", at, took / 2, args))
        at += took
    if events:
        _write_events(folder, round(at * 1e6), events)


def _event(process: int, name: str, at: float, took: float, args: object) -> dict[str, object]:
    return {"ph": "X", "pid": process, "name": name, "ts": at * 1e6, "dur": took * 1e6,
            "args": args}  # fmt: skip


def _write_events(folder: Path, end_us: int, events: Sequence[object]) -> None:
    pevents = folder / "framework" / "pevents" / "2023111422"
    pevents.mkdir(parents=True)
    start_us = START_S * 1_000_000
    phases = ("Step:ModeKeys.TRAIN", "DataLoaderIter::GetNext", "DataLoaderWorker")
    head: list[object] = [
        {"name": "process_name", "ph": "M", "pid": 0,
         "args": {"start_time_since_epoch_in_micros": start_us}},
        *({"name": "process_name", "ph": "M", "pid": number, "args": {"name": phase}}
          for number, phase in enumerate(phases, 1)),
    ]  # fmt: skip
    (pevents / f"{start_us + end_us}_88-algo-1_pythontimeline.json").write_text(
        json.dumps([*head, *events])
    )


def _of(value: float, length: int = N) -> npt.NDArray[np.float64]:
    return np.full(length, float(value))


def _at_times(share: float, high: float, low: float) -> npt.NDArray[np.float64]:
    return np.where(np.arange(N) % 10 < 10 * share, high, low)


def _idle_while(share: float, what: str, high: float) -> Callable[[Path], None]:
    """Return a profile in which a GPU idles, and a core is so at a share of the moments."""
    readings = {("gpu0", "busy"): _of(5), ("cpu0", "busy"): _of(10), ("cpu1", "busy"): _of(10)}
    return profiled({**readings, ("cpu1", what): _at_times(share, high, 5)})


def _gpu(busy: object, memory: object, cpu: object = None) -> Callable[[Path], None]:
    readings = {("gpu0", "busy"): busy, ("gpu0", "memory"): memory, ("cpu0", "busy"): cpu}
    return profiled({key: one for key, one in readings.items() if one is not None})  # type: ignore[misc]


def _near(mean: float, seed: int) -> npt.NDArray[np.float64]:
    return np.clip(np.random.default_rng(seed).normal(mean, 5, N), 0, 100)


def _long_steps(number: int) -> list[float]:
    lengths = np.random.default_rng(0).normal(0.1, 0.002, 1000)
    lengths[np.linspace(20, 999, number).astype(int)] = 1.0
    return [float(one) for one in lengths]


_CORES = {(f"cpu{n}", "busy"): _of(30, 120) for n in range(8)}
_GROWN = np.r_[_of(40, 1100), _of(70, 200)]

PROFILED = [
    Documented("BatchSize", _gpu(_of(30), _of(15), _of(20)), _gpu(_of(90), _of(15), _of(20))),
    Documented("CPUBottleneck", _idle_while(0.6, "busy", 95), _idle_while(0.4, "busy", 95)),
    Documented("IOBottleneck", _idle_while(0.6, "iowait", 80), _idle_while(0.6, "iowait", 30)),
    Documented("GPUMemoryIncrease", _gpu(_of(50, 1300), _GROWN), _gpu(_of(50), _of(40))),
    Documented(
        "LoadBalancing",
        profiled({("gpu0", "busy"): _of(100), ("gpu1", "busy"): _of(20)}),
        profiled({("gpu0", "busy"): _near(80, 0), ("gpu1", "busy"): _near(80, 1)}),
    ),
    Documented("LowGPUUtilization", _gpu(_of(30), None), _gpu(_of(92), None)),
    Documented(
        "Dataloader",
        profiled(_CORES, steps=[1.0] * 60, loaders=0),
        profiled(_CORES, steps=[1.0] * 60, loaders=8),
    ),
    Documented(
        "MaxInitializationTime",
        profiled({("cpu0", "busy"): _of(20, 3600)}, steps=[1.0], first_s=21 * 60),
        profiled({("cpu0", "busy"): _of(20, 3600)}, steps=[1.0], first_s=19 * 60),
    ),
    Documented(
        "StepOutlier",
        profiled({}, steps=_long_steps(12)),
        profiled({}, steps=_long_steps(8)),
    ),
    Documented(
        "ProfilerReport",
        _gpu(_of(30), _of(15), _of(20)),
        profiled({("gpu0", "busy"): _of(92), ("cpu0", "busy"): _of(20)}, steps=[0.5] * 200),
    ),
]
#: Rules that only summarize, and find nothing.
SUMMARIES = {
    "OverallSystemUsage": _gpu(_of(30), _of(15), _of(20)),
    "OverallFrameworkMetrics": profiled({}, steps=_long_steps(8)),
}
