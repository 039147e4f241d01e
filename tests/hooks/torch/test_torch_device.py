"""Statistics on an accelerator: what the host computes, in few operations that wait for nothing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.plan import Plan
from stepwatch.hooks.torch import device as device_batch
from stepwatch.hooks.torch import observe
from stepwatch.hooks.torch.device import TABLE_CHUNK, WIDTHS, DeviceBatch, DeviceRows, cuts
from stepwatch.hooks.torch.tensors import to_numpy
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import COUNT, MAX, SUM, SUM_ABS, SUM_SQ, summarize
from tests.support.hooks.torch.captured_rows import rows_of
from tests.support.hooks.torch.trainings import fit, inputs

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
NARROW = [torch.float8_e4m3fn, torch.float8_e5m2]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
VIEWS = [
    lambda tensor: tensor,
    lambda tensor: tensor[::3],
    lambda tensor: tensor.reshape(-1, 1).expand(-1, 3),
    lambda tensor: tensor[: tensor.numel() // 2 * 2].reshape(2, -1).T,
    lambda tensor: tensor[: tensor.numel() // 8 * 8].reshape(2, 2, 2, -1).transpose(1, 3),
]
EDGES = [size + more for size in (0, *WIDTHS[1:]) for more in (-1, 0, 1, 2) if size + more >= 0]
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.0, -3.5, 1e-40, 3e38]


def rows_on_device(tensors, burst=False):
    """Return the statistics of tensors by the way over an accelerator."""
    batch, rows = DeviceBatch(), {}

    def add_all():
        for place, tensor in enumerate(tensors):
            batch.add(tensor, lambda row, place=place: rows.__setitem__(place, row))

    if burst:
        with batch.burst():
            add_all()
    else:
        add_all()
    batch.collect()
    return [rows[place] for place in range(len(tensors))]


def assert_same_row(expected, row):
    """Counts and extremes to the bit, sums to 1e-12 of what was added up."""
    np.testing.assert_array_equal(expected[:SUM], row[:SUM])
    np.testing.assert_array_equal(expected[SUM_SQ + 1 :], row[SUM_SQ + 1 :])
    assert row[SUM] == pytest.approx(expected[SUM], rel=0, abs=1e-12 * expected[SUM_ABS])
    np.testing.assert_allclose(row[[SUM_ABS, SUM_SQ]], expected[[SUM_ABS, SUM_SQ]], rtol=1e-12)


@st.composite
def any_tensor(draw):
    """Return a tensor of any dtype, size, strides and share of special values."""
    dtype = draw(st.sampled_from([*FLOATS, *NARROW, *WHOLE]))
    size = draw(st.sampled_from(EDGES) | st.integers(0, 3000))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = random.normal(size=size) * 10 ** random.uniform(-4, 4, size)
    chosen = draw(st.lists(st.sampled_from(SPECIAL), max_size=4))
    share = draw(st.sampled_from([0.0, 0.01, 0.5, 1.0])) if chosen else 0.0
    if chosen:
        values = np.where(random.random(size) < share, random.choice(chosen, size), values)
    if not dtype.is_floating_point:
        values = np.clip(np.nan_to_num(values), 0, 100)
    tensor = torch.from_numpy(values).to(dtype)
    return draw(st.sampled_from(VIEWS))(tensor)


class TestSameAsOnTheHost:
    @settings(max_examples=80, deadline=None)
    @given(tensors=st.lists(any_tensor(), min_size=1, max_size=4), burst=st.booleans())
    def test_whatever_is_reduced_together(self, tensors, burst):
        """Where a tensor lies, and what else is reduced with it, make no difference."""
        for tensor, row in zip(tensors, rows_on_device(tensors, burst), strict=True):
            assert_same_row(summarize(to_numpy(tensor)), row)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
    def test_tensors_that_are_reduced_in_parts(self, dtype):
        """What spoils one part is left out of that part alone."""
        tensor = torch.randn(
            TABLE_CHUNK + WIDTHS[0] + 5, generator=torch.Generator().manual_seed(0)
        )
        tensor = tensor.to(dtype)
        tensor[[3, TABLE_CHUNK, -1]] = torch.tensor([torch.nan, torch.inf, -torch.inf], dtype=dtype)

        (row,) = rows_on_device([tensor])
        assert_same_row(summarize(to_numpy(tensor)), row)

    def test_squares_that_float32_cannot_hold(self):
        """Sums are taken in float64."""
        tensor = inputs(300, 300).mul(1e30)

        (row,) = rows_on_device([tensor])
        assert_same_row(summarize(tensor.numpy()), row)

    def test_a_tensor_that_is_negated_only_in_name_is_negated(self):
        """``.imag`` of a conjugate is such a one."""
        tensor = torch.view_as_complex(inputs(9, 2)).conj().imag
        assert tensor.is_neg()

        (row,) = rows_on_device([tensor])
        assert_same_row(summarize(to_numpy(tensor)), row)

    @given(size=st.integers(0, 3 * TABLE_CHUNK))
    def test_nothing_of_a_tensor_is_left_out(self, size):
        """Its parts add up to it, and only the last may not fill its rows."""
        parts = cuts(size)
        assert size == sum(part for part, _ in parts)
        assert all(part % width == 0 for part, width in parts[:-1])


class TestWhenTensorsAreRead:
    @pytest.mark.parametrize("size", [10, TABLE_CHUNK + 1], ids=["copied", "reduced at once"])
    def test_a_tensor_may_change_once_it_was_added(self, size):
        """As the output does that an activation overwrites."""
        batch, rows = DeviceBatch(), []
        tensor = torch.ones(size)
        batch.add(tensor, rows.append)
        tensor.fill_(7)
        batch.collect()

        assert [(1.0, size)] == [(row[MAX], row[COUNT]) for row in rows]

    def test_a_tensor_of_a_burst_may_change_after_it(self):
        """As weights do when the optimizer steps."""
        batch, rows = DeviceBatch(), []
        tensor = torch.ones(10)
        with batch.burst():
            batch.add(tensor, rows.append)
        tensor.fill_(7)
        batch.collect()

        assert [1.0] == [row[MAX] for row in rows]

    def test_a_tensor_that_changed_in_place_is_another(self):
        """And one that did not is reduced once, whatever it is called."""
        batch, rows = DeviceBatch(), []
        tensor = torch.ones(10)
        batch.add(tensor, rows.append)
        batch.add(tensor, rows.append)
        batch.add(tensor.fill_(7), rows.append)
        batch.collect()

        assert [1.0, 1.0, 7.0] == [row[MAX] for row in rows]

    def test_what_was_noted_is_not_noted_again(self):
        """A batch is empty once it was collected."""
        batch, rows = DeviceBatch(), []
        for _ in range(2):
            batch.add(torch.ones(3), rows.append)
            batch.collect()
        batch.collect()

        assert 2 == len(rows)


class TestDeviceRows:
    def test_what_is_observed_again_is_merged(self):
        """Micro-batches, each with its own call."""
        step = OpenStep(Plan(), Mode.TRAIN, 0)
        rows = DeviceRows(step)
        parts = [inputs(4), inputs(700, seed=2), inputs(0)]
        for part in parts:
            rows.observe(TensorInfo("t", "outputs", "float32", (4,)), part)
        rows.collect()

        assert_same_row(summarize(torch.cat(parts).numpy()), step.statistics_of(0))


class OnDevice(TorchDispatchMode):
    """Counts operators, and fails where one takes or gives what is elsewhere.

    Args:
        device: Where all is: ``cuda`` in a ``FakeTensorMode``, or ``meta``.
    """

    def __init__(self, device="meta"):
        super().__init__()
        self.device = device
        self.calls = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        if function.namespace != "prim":  # those ask a tensor of no memory where it would be
            self.calls[str(function)] += 1
        for tensor in filter(torch.is_tensor, torch.utils._pytree.tree_leaves((args, found))):
            assert self.device == tensor.device.type, f"{function} has one on {tensor.device}"
        return found


@pytest.fixture
def noticed(monkeypatch):
    """Let modes see our operators."""
    monkeypatch.setattr(device_batch, "isolated_compute", lambda _: torch.no_grad())


def mixed_tensors():
    """Return 600 tensors, of one element to 160,000."""
    sizes = (10 ** np.random.default_rng(0).uniform(0, 5.2, 600)).astype(int)
    return [torch.empty(int(size), device="meta") for size in sizes]


@pytest.mark.usefixtures("noticed")
class TestOperators:
    @pytest.mark.parametrize(
        "dtype", [*FLOATS, torch.float8_e5m2, torch.int64, torch.bool], ids=str
    )
    def test_none_waits_for_the_accelerator(self, dtype):
        """No value is asked for, no size depends on one, and nothing comes from the host."""
        batch = DeviceBatch()
        # A fake tensor has no values: asking for one fails.
        with FakeTensorMode(), OnDevice("cuda") as device, batch.burst():
            for size in (0, 1, 600, 20_000, TABLE_CHUNK + 7):
                batch.add(torch.empty(size, device="cuda", dtype=dtype), print)

        assert device.calls

    @pytest.mark.parametrize(
        ("burst", "most"), [(True, 2), (False, 3)], ids=["burst", "one by one"]
    )
    def test_many_tensors_share_them(self, burst, most):
        """At most two for each of 600 weights or gradients, three for each output."""
        batch, tensors = DeviceBatch(), mixed_tensors()
        with OnDevice() as device:
            if burst:
                with batch.burst():
                    for tensor in tensors:
                        batch.add(tensor, print)
            else:
                for tensor in tensors:
                    batch.add(tensor, print)
                batch.reduce()

        assert most * len(tensors) >= device.calls.total()

    def test_an_output_costs_one_while_the_model_runs(self):
        """A copy; the rest once for all of them."""
        batch, output = DeviceBatch(), torch.empty(8, 128, device="meta")
        with OnDevice() as device:
            batch.add(output, print)

        assert {"aten.clone.default": 1} == device.calls

    def test_one_tensor_alone(self):
        """What a table costs, whoever is in it."""
        batch = DeviceBatch()
        with OnDevice() as device:
            batch.add(torch.empty(8, 100, device="meta"), print)
            batch.reduce()

        assert 32 >= device.calls.total()

    def test_weights_are_not_copied_one_by_one(self):
        """Those of a burst are joined as they are."""
        batch = DeviceBatch()
        with OnDevice() as device, batch.burst():
            for tensor in mixed_tensors():
                batch.add(tensor, print)

        assert 0 == device.calls["aten.clone.default"]
        assert 20 > device.calls["aten.cat.default"]


class TestHook:
    def test_modules_that_overwrite_what_they_are_given(self, watched, monkeypatch):
        """Each output is as it was returned, whoever changes it in place afterwards."""
        runs = []
        for on_host in (True, False):
            monkeypatch.setattr(observe, "on_host", lambda _, here=on_host: here)
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 1))
            with watched() as seen:
                fit(model)
            runs.append(rows_of(seen))

        host, device = runs
        assert host[0]["output/0"][SUM] != host[0]["output/1"][SUM]
        for one, other in zip(host, device, strict=True):
            names = {name for name in one if not name.startswith("loop/")}  # those are times
            assert names <= other.keys()
            for name in sorted(names):
                np.testing.assert_allclose(other[name], one[name], rtol=1e-12, err_msg=name)
