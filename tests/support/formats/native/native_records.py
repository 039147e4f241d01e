"""Steps made at random, and what the tests of the native format share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from stepwatch.formats.interface import step_ranges
from stepwatch.formats.native.observations import to_table
from stepwatch.formats.native.parts import Part, PartMeta, Span, fresh_rows, write_part
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.exponents import NUM_BINS
from stepwatch.numerics.statistics import MIN, NUM_FIELDS
from stepwatch.store import Store

T = TypeVar("T")

_INFOS = st.builds(
    TensorInfo,
    name=st.text("abcdé/.0", min_size=1, max_size=6),
    collection=st.sampled_from(["weights", "gradients", "losses"]),
    dtype=st.sampled_from(["float32", "bfloat16"]),
    shape=st.lists(st.integers(0, 5), max_size=3).map(tuple),
    trainable=st.sampled_from([None, True, False]),
    optimizer_groups=st.sampled_from([None, 0, 1, 2]),
    offset=st.sampled_from([None, None, (), (3,), (0, 2**40)]),
)
LAYOUTS = st.lists(_INFOS, min_size=1, max_size=5, unique_by=lambda info: info.name).map(
    lambda infos: Layout(tuple(infos))
)


@st.composite
def records(draw: st.DrawFn, most: int = 12) -> list[StepRecord]:
    """Steps of one worker, ascending, with modes, gaps, and layouts that change and come back."""
    layouts = draw(st.lists(LAYOUTS, min_size=1, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    step, mode_steps = -1, dict.fromkeys(Mode, -1)
    made = []
    for _ in range(draw(st.integers(0, most))):
        mode = draw(st.sampled_from([Mode.TRAIN, Mode.EVAL]))
        step += draw(st.sampled_from([1, 1, 1, 2, 5]))
        mode_steps[mode] += draw(st.sampled_from([1, 1, 3]))
        layout = draw(st.sampled_from(layouts))
        made.append(
            StepRecord(
                "worker_0", mode, step, mode_steps[mode], 10**18 + step, layout,
                random_statistics(random, len(layout)),
                digests=_of_some(layout, lambda: int.from_bytes(random.bytes(8)), draw),
                exponents=_of_some(layout, lambda: random.integers(0, 2**60, NUM_BINS), draw),
            )
        )  # fmt: skip
    return made


def _of_some(layout: Layout, make: Callable[[], T], draw: st.DrawFn) -> dict[str, T]:
    """Return something for the tensors of a step, for every other one, or for none."""
    stride = draw(st.sampled_from([1, 2, len(layout) + 1]))
    start = 0 if stride < 3 else len(layout)
    return {info.name: make() for info in layout.tensors[start::stride]}


def random_statistics(random: np.random.Generator, tensors: int) -> np.ndarray:
    """Return statistics of any kind: nan, infinities, zeros of both signs, the tiniest numbers."""
    matrix = random.normal(size=(tensors, NUM_FIELDS))
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7e308])
    where = random.random(matrix.shape) < 0.3
    matrix[where] = random.choice(special, where.sum())
    matrix[:, :MIN] = random.integers(0, 2**53, (tensors, MIN))
    return matrix


def uniform_records(first: int, count: int, tensors: int = 3) -> list[StepRecord]:
    """Return steps that share one layout ``t0``, ``t1``, … and say their step in every number."""
    layout = Layout(
        tuple(TensorInfo(f"t{number}", "weights", "float32", (2,)) for number in range(tensors))
    )
    return [
        StepRecord(
            "worker_0", Mode.TRAIN, step, step, step, layout,
            np.full((tensors, NUM_FIELDS), float(step)),
        )
        for step in range(first, first + count)
    ]  # fmt: skip


def store_part(store: Store, made: Sequence[StepRecord], follows: int = -1) -> Part:
    """Write steps as one fresh part."""
    span = Span("worker_0", made[0].step, made[-1].step)
    table = to_table(made, [None] * len(made))
    meta = PartMeta(follows, tuple(step_ranges(made)))
    write_part(store, span, fresh_rows(table), meta)
    return Part(store, span)


def assert_same_record(expected: StepRecord, found: StepRecord) -> None:
    """Everything but the raw values, to the bit."""
    fields = ("worker", "mode", "step", "mode_step", "time_ns")
    assert [getattr(expected, name) for name in fields] == [getattr(found, name) for name in fields]
    assert expected.layout.tensors == found.layout.tensors
    assert expected.statistics.tobytes() == np.ascontiguousarray(found.statistics).tobytes()
    assert expected.digests == found.digests
    assert _as_lists(expected.exponents) == _as_lists(found.exponents)


def _as_lists(arrays: Mapping[str, np.ndarray]) -> dict[str, list[int]]:
    return {name: array.tolist() for name, array in arrays.items()}


def sorted_rows(table: pa.Table) -> list[dict[str, object]]:
    """Return the rows in one order, nan made comparable."""
    rows = table.to_pylist()
    for row in rows:
        row.update({name: repr(value) for name, value in row.items() if isinstance(value, float)})
    return sorted(rows, key=lambda row: (row["step"], row["order"]))
