"""A run is the same in either format, as far as smdebug's can hold it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch import Trial
from stepwatch.formats import RunTarget, open_reader, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import ABS_MIN, COUNT, MAX, MIN, SUM, SUM_ABS, SUM_SQ
from stepwatch.store import open_store
from tests.support import fork_server
from tests.support.formats.smdebug.smdebug_steps import step_of

HELD = [COUNT, MIN, MAX, SUM, SUM_ABS, SUM_SQ, ABS_MIN]
ELEMENTS = st.floats(-100, 100, width=32)
ARRAYS = st.lists(ELEMENTS, min_size=1, max_size=4).map(np.float32) | ELEMENTS.map(
    lambda number: np.array(number, np.float32)
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([Mode.TRAIN, Mode.EVAL]),
        st.dictionaries(st.sampled_from(["w", "gradient/w", "loss"]), ARRAYS, min_size=1),
        st.booleans(),
    ),
    min_size=1,
    max_size=5,
)


def read_back(records, run_format):
    """Write steps, and return what a reader of that format finds."""
    store = open_store(f"memory://either-{run_format}")
    for key in store.list():
        store.delete(key)
    manifest = Manifest("id", 1, run_format=run_format)
    writer = open_writer(RunTarget(store, "worker_0", manifest))
    for record in records:
        writer.write(record)
    writer.close(End("finished", 1))
    reader = open_reader(store)
    reader.refresh()
    return list(reader.records("worker_0")), reader.tensors()


@pytest.mark.slow
@given(STEPS)
def test_the_same_steps_come_back(steps):
    """Steps, modes, names, kinds, shapes, values; of the statistics those that are not counts."""
    counts = dict.fromkeys(Mode, -1)
    records = []
    for step, (mode, arrays, raw) in enumerate(steps):
        counts[mode] += 1
        records.append(step_of(arrays, step, mode=mode, mode_step=counts[mode], raw=raw))
    (native, kinds), (found, same_kinds) = (read_back(records, f) for f in ("native", "smdebug"))

    assert kinds == same_kinds
    assert [(r.step, r.mode, r.mode_step) for r in native] == [
        (r.step, r.mode, r.mode_step) for r in found
    ]
    for expected, one in zip(native, found, strict=True):
        # Seconds as float64 are good for a quarter of a microsecond.
        assert abs(expected.time_ns - one.time_ns) < 1000
        rows = [one.layout.row_of[info.name] for info in expected.layout.tensors]
        assert [info.shape for info in expected.layout.tensors] == [
            one.layout.tensors[row].shape for row in rows
        ]
        np.testing.assert_allclose(
            expected.statistics[:, HELD], one.statistics[rows][:, HELD], rtol=1e-9, atol=1e-9
        )
        for name, array in expected.raw.items():
            np.testing.assert_array_equal(array, one.raw[name])


SCRIPT = """
import torch
torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randn(16, 1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(8):
    if step == 5:
        x[3, 2] = torch.nan
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_stepwatch_run_writes_it(tmp_path):
    """The findings of ``stepwatch run --format smdebug`` are found again by ``check``."""
    (tmp_path / "train.py").write_text(SCRIPT)

    def stepwatch(*arguments):
        command = [Path(sys.executable).with_name("stepwatch"), *arguments]
        return fork_server.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )

    ran = stepwatch("run", "--format", "smdebug", "--run", "r", "train.py")
    checked = stepwatch("check", "r")

    assert (0, list(range(8))) == (ran.returncode, Trial(tmp_path / "r").steps("TRAIN"))
    for said in (ran.stderr, checked.stdout):
        assert "non_finite_origin" in said
        assert "values are NaN or infinite (step 5)" in said


@pytest.mark.slow
def test_another_format_is_told(tmp_path):
    """A word that is no format ends before the script begins."""
    command = [Path(sys.executable).with_name("stepwatch"), "run", "--format", "smd", "x.py"]
    ran = fork_server.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ran.returncode == 2
    assert "'native', 'smdebug'" in ran.stderr
