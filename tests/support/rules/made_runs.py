"""Steps of a large training, made to order: a realistic mix of what hooks capture.

Nothing is wrong in them, and there is more of each than rules need to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import SUM, SUM_ABS, SUM_SQ, summarize

_EVERY = 10  # steps from one sparse step to the next
_EVAL_EVERY = 50


@dataclass(frozen=True)
class MadeRun:
    """A run of so many layers and steps.

    Args:
        layers: Each has a weight, a gradient, an output, and at every tenth step what is measured
            of them.
        steps: TRAIN steps; at every fiftieth is an EVAL step more.
    """

    layers: int
    steps: int

    def records(self) -> Iterator[StepRecord]:
        """Yield the records of one worker, the same ones at each call."""
        random = np.random.default_rng(0)
        dense = [*_parameters(self.layers), *_scalars()]
        sparse = [*dense, *_measures(self.layers)]
        layouts = Layout(tuple(dense)), Layout(tuple(sparse)), Layout(_evaluation(self.layers))
        base = np.array([_row(tensor, random) for tensor in sparse])
        number = 0
        for step in range(self.steps):
            layout = layouts[1 if step % _EVERY == 0 else 0]
            yield _record(layout, base, random, Mode.TRAIN, (number, step), step)
            number += 1
            if step % _EVAL_EVERY == _EVAL_EVERY - 1:
                place = number, step // _EVAL_EVERY
                yield _record(layouts[2], base, random, Mode.EVAL, place, step)
                number += 1


def _parameters(layers: int) -> Iterator[TensorInfo]:
    names = [f"layer{number}" for number in range(layers)]
    for name in names:
        facts = {"trainable": True, "optimizer_groups": 1}
        yield TensorInfo(f"{name}.weight", "weights", "float32", (64, 64), **facts)
    for name in names:
        yield TensorInfo(f"output/{name}", "outputs", "float32", (32, 64))
    for name in names:
        yield TensorInfo(f"gradient/{name}.weight", "gradients", "float32", (64, 64))


def _scalars() -> list[TensorInfo]:
    optimizer = ("gradient_norm_before_clipping", "max_norm", "stale_gradients")
    loop = ("step_seconds", "data_wait_seconds", "modules_in_eval", "modules", "backwards",
            "loss_weight", "scheduler_steps", "optimizer_steps")  # fmt: skip
    return [
        TensorInfo("loss/L", "losses", "float32", ()),
        TensorInfo("learning_rate/0", "learning_rates", "float32", ()),
        TensorInfo("prediction/L", "predictions", "float32", (32, 10)),
        TensorInfo("label/L", "labels", "int64", (32,)),
        *(TensorInfo(f"optimizer/{name}", "optimizer", "float32", ()) for name in optimizer),
        *(TensorInfo(f"loop/{name}", "loop", "float64", ()) for name in loop),
    ]


def _measures(layers: int) -> Iterator[TensorInfo]:
    for number in range(layers):
        name = f"layer{number}"
        yield TensorInfo(f"update_ratio/{name}.weight", "updates", "float32", ())
        yield TensorInfo(f"update_rms/{name}.weight", "optimizer_states", "float32", ())
    for number in range(layers // 4):
        name = f"layer{number}"
        yield TensorInfo(f"attention/{name}/logits", "attention", "float32", (8, 64))
        yield TensorInfo(f"attention/{name}/entropy", "attention", "float32", (8,))
        yield TensorInfo(f"active/{name}", "activity", "float32", (64,))
        yield TensorInfo(f"inside/{name}/tanh", "activity", "float32", (4, 64))
        yield TensorInfo(f"quantiles/gradient/{name}.weight", "quantiles", "float32", (7,))
        yield TensorInfo(f"quantiles/output/{name}", "quantiles", "float32", (7,))
        yield TensorInfo(f"routing/{name}", "routing", "float32", (8,))
    yield TensorInfo("row_norms/embedding.weight", "embeddings", "float32", (7,))
    yield TensorInfo("log_partition/L", "log_partition", "float32", ())
    yield TensorInfo("confusion/L", "classes", "int64", (10, 10))
    yield TensorInfo("class_count/L", "classes", "int64", (10,))
    yield TensorInfo("sample/0", "samples", "uint64", (32,))
    yield TensorInfo("channel_mean/0", "channels", "float32", (3,))
    yield TensorInfo("channel_std/0", "channels", "float32", (3,))
    yield TensorInfo("channel_images/0", "channels", "float64", ())
    yield TensorInfo("token/embedding", "tokens", "int64", (2, 16))
    yield TensorInfo("token_count/embedding", "tokens", "float64", ())


def _evaluation(layers: int) -> tuple[TensorInfo, ...]:
    outputs = [tensor for tensor in _parameters(layers) if tensor.collection == "outputs"]
    seen = ("loss/L", "loop/step_seconds", "sample/0", "label/L", "confusion/L")
    others = [tensor for tensor in (*_scalars(), *_measures(0)) if tensor.name in seen]
    return (*outputs, *others)


_SAVED_RAW = ("activity", "quantiles", "embeddings", "routing", "classes", "samples", "channels",
              "tokens")  # fmt: skip
_AT_ONE = ("loop/modules", "loop/backwards", "loop/loss_weight", "optimizer/max_norm")
_AT_ZERO = ("loop/modules_in_eval", "optimizer/stale_gradients", "loop/data_wait_seconds")


def _row(tensor: TensorInfo, random: np.random.Generator) -> np.ndarray:
    return summarize(_value(tensor, random))


def _value(tensor: TensorInfo, random: np.random.Generator) -> np.ndarray:
    if tensor.name.startswith("confusion/"):
        return 3 * np.eye(*tensor.shape, dtype=np.int64)
    if tensor.name.startswith("channel_images/"):
        return np.full((), 32.0)
    if tensor.name in _AT_ONE or tensor.collection == "channels":
        return np.ones(tensor.shape)
    if tensor.name in _AT_ZERO:
        return np.zeros(tensor.shape)
    if tensor.dtype == "uint64":
        return random.integers(2**60, size=tensor.shape, dtype=np.uint64)
    if tensor.dtype == "int64":
        return random.integers(10, 20, size=tensor.shape)
    if tensor.collection in ("weights", "gradients", "outputs", "predictions"):
        return random.normal(size=tensor.shape).astype(np.float32)
    return random.uniform(0.2, 0.8, size=tensor.shape).astype(np.float32)


def _record(
    layout: Layout,
    base: np.ndarray,
    random: np.random.Generator,
    mode: Mode,
    place: tuple[int, int],
    trained: int,
) -> StepRecord:
    rows = base[: len(layout)].copy()
    rows[:, [SUM, SUM_ABS, SUM_SQ]] *= 1 + 0.01 * random.normal(size=(len(layout), 1))
    numbers = {"loss/L": 0.5 + 2 / (1 + 0.05 * trained), "learning_rate/0": 1e-3}
    numbers |= {f"loop/{name}_steps": trained + 1.0 for name in ("optimizer", "scheduler")}
    for name, number in numbers.items():
        row = layout.row_of.get(name)
        if row is not None:
            rows[row] = summarize(np.array(number))
    raw = {
        tensor.name: _value(tensor, random).astype(tensor.dtype)
        for tensor in layout.tensors
        if tensor.collection in _SAVED_RAW
    }
    step, mode_step = place
    return StepRecord("worker_0", mode, step, mode_step, step * 10**9, layout, rows, raw)
