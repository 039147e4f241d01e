"""Statistics on a GPU by kernels of ours, without a GPU: interpreted, and compiled for several.

The interpreter takes subnormal numbers of bfloat16 for zeros, so there are none here.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.framework

COMPILE = """
import re, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from stepwatch.hooks.torch import gpu_rows

capability, dtype = int(sys.argv[1]), sys.argv[2]
ALIGNED = [["tt.divisibility", 16]]
wide = getattr(gpu_rows.tl, "float64" if dtype in ("fp64", "i64", "u8") else "float32")
BLOCK = {"BLOCK": gpu_rows.BLOCK, "WIDE": wide}

def code(kernel, signature, constants, aligned=()):
    signature = {**signature, **dict.fromkeys(constants, "constexpr")}
    attributes = {(place,): ALIGNED for place in aligned}
    source = ASTSource(kernel, signature, constants, attributes)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["ptx"]

one = {"elements": f"*{dtype}", "num_elements": "i32", "length": "i32", "rows": "*fp64"}
many = {"base": f"*{dtype}", "table": "*i64", "rows": "*fp64"}
merge = {"rows": "*fp64", "ends": "*i64", "merged": "*fp64"}
found = code(gpu_rows._reduce_one, one, BLOCK, aligned=(0, 2))
assert ".v4.b32" in found or ".v2.b" in found, "narrow loads"
found = code(gpu_rows._reduce_many, many, {**BLOCK, "ALIGNED": True}, aligned=(0,))
assert ".v4.b32" in found or ".v2.b" in found, "narrow loads"
code(gpu_rows._reduce_many, many, {**BLOCK, "ALIGNED": False})
code(gpu_rows._merge, merge, {"ROWS": 32, "WIDTH": 16})
"""

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
VIEWS = [
    lambda tensor: tensor,
    lambda tensor: tensor[::3],
    lambda tensor: tensor[1:],
    lambda tensor: tensor.reshape(-1, 1).expand(-1, 3),
    lambda tensor: tensor[: tensor.numel() // 8 * 8].reshape(2, 2, 2, -1).transpose(1, 3),
]
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.0, -3.5]


@pytest.fixture
def device_batch(monkeypatch):
    """The module that gathers statistics, as if the CPU were a GPU; kernels are interpreted."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    from stepwatch.hooks.torch import device

    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    cpu = torch.device("cpu")
    monkeypatch.setitem(device._kernels, cpu, device._tried_kernel(cpu))
    return device


@st.composite
def any_tensor(draw):
    """Return a tensor of any dtype, size, strides and share of special values."""
    dtype = draw(st.sampled_from([*FLOATS, *WHOLE]))
    size = draw(st.sampled_from([0, 1, 1023, 1024, 1025, 2**15 + 1]) | st.integers(0, 3000))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = random.normal(size=size) * 10 ** random.uniform(-4, 4, size)
    chosen = draw(st.lists(st.sampled_from(SPECIAL), max_size=4))
    if chosen:
        share = draw(st.sampled_from([0.01, 0.5, 1.0]))
        values = np.where(random.random(size) < share, random.choice(chosen, size), values)
    if not dtype.is_floating_point:
        values = np.clip(np.nan_to_num(values), 0, 100)
    return draw(st.sampled_from(VIEWS))(torch.from_numpy(values).to(dtype))


def rows_of(device, tensors, burst):
    batch, rows = device.DeviceBatch(), {}
    with batch.burst() if burst else contextlib.nullcontext():
        for place, tensor in enumerate(tensors):
            batch.add(tensor, partial(rows.__setitem__, place))
    batch.collect()
    return [rows[place] for place in range(len(tensors))]


def test_rows_are_those_of_the_host(device_batch):
    """Whatever is reduced together; counts and extremes to the bit."""
    from stepwatch.hooks.torch.tensors import to_numpy
    from stepwatch.numerics.statistics import SUM, SUM_ABS, SUM_SQ, summarize

    assert device_batch.rows_kernel(torch.device("cpu")) is not None

    @settings(max_examples=60, deadline=None)
    @given(tensors=st.lists(any_tensor(), min_size=1, max_size=4), burst=st.booleans())
    def are_the_same(tensors, burst):
        found = rows_of(device_batch, tensors, burst)
        for tensor, row in zip(tensors, found, strict=True):
            expected = summarize(to_numpy(tensor))
            exact = [field for field in range(len(row)) if field not in (SUM, SUM_ABS, SUM_SQ)]
            np.testing.assert_array_equal(expected[exact], row[exact])
            assert row[SUM] == pytest.approx(expected[SUM], rel=0, abs=1e-12 * expected[SUM_ABS])
            np.testing.assert_allclose(row[SUM_ABS], expected[SUM_ABS], rtol=1e-12)
            np.testing.assert_allclose(row[SUM_SQ], expected[SUM_SQ], rtol=1e-12)

    are_the_same()


def test_a_kernel_that_fails_is_used_no_more(device_batch, monkeypatch):
    """Operations of PyTorch reduce what it could not, and all that comes later."""
    kernel = device_batch.rows_kernel(torch.device("cpu"))

    def fail(*_):
        raise RuntimeError("no room for it")

    monkeypatch.setattr(kernel, "_launch", fail)
    tensors = [torch.arange(5.0), torch.arange(2000.0)]
    first, second = rows_of(device_batch, tensors, burst=False)

    assert (10.0, 1999000.0) == (first[7], second[7])
    assert device_batch.rows_kernel(torch.device("cpu")) is None


@pytest.mark.parametrize("capability", ["75", "80", "90", "100"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16", "fp64", "i64", "u8"])
def test_kernels_compile_for_gpus_with_wide_loads(capability, dtype):
    code = subprocess.run(
        [sys.executable, "-c", COMPILE, capability, dtype], check=False, stderr=subprocess.PIPE
    )
    assert not code.returncode, code.stderr.decode()[-2000:]
