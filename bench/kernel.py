"""Measure how fast the statistics of a tensor are: ``python bench/statistics.py``.

Prints GB/s read by one thread: of the kernel, of the numpy fallback, of digests and histograms of
exponents, and beside them of ``np.sum`` and of a copy, which know less. Small tensors are hot in
the cache; the 16 MB ones take turns, so that each comes from memory. Contenders alternate; the
median is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from time import perf_counter

import ml_dtypes
import numpy as np

from stepwatch.numerics import statistics
from stepwatch.numerics.digest import digest
from stepwatch.numerics.exponents import count_exponents

DTYPES = (np.float32, ml_dtypes.bfloat16, np.float16, np.float64)
SIZES = {"64 KB": 2**16, "1 MB": 2**20, "16 MB": 2**24}
CACHE_BYTES = 2**25
ROUNDS = 9
ROUND_BYTES = 2**22  # a round reads at least so much, to be longer than the clock's noise


def summarize_with_numpy(array: np.ndarray) -> None:
    kernel, statistics._kernel = statistics._kernel, None
    try:
        statistics.summarize(array)
    finally:
        statistics._kernel = kernel


def contenders(arrays: list[np.ndarray]) -> dict[str, Callable[[np.ndarray], object]]:
    row = np.empty(statistics.NUM_FIELDS)
    copy = arrays[0].copy()
    return {
        "kernel": lambda array: statistics.summarize_into(array, row),
        "numpy": summarize_with_numpy,
        "digest": digest,
        "exponents": count_exponents,
        "np.sum": np.sum,
        "copy": lambda array: np.copyto(copy, array),
    }


def gb_per_second(dtype: type, size_bytes: int) -> dict[str, float]:
    """Return the median throughput of each contender on tensors of one dtype and size."""
    random = np.random.default_rng(0)
    count = size_bytes // np.dtype(dtype).itemsize
    num_arrays = 1 + 2 * CACHE_BYTES // size_bytes if size_bytes >= CACHE_BYTES // 2 else 1
    values = random.standard_normal(count, dtype=np.float32).astype(dtype)
    arrays = [values.copy() for _ in range(num_arrays)]
    repeats = max(1, ROUND_BYTES // size_bytes)
    functions = contenders(arrays)
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    turns = cycle(arrays)
    for _ in range(ROUNDS):
        for name, function in functions.items():
            start = perf_counter()
            for _ in range(repeats):
                function(next(turns))
            seconds[name].append((perf_counter() - start) / repeats)
    return {name: size_bytes / np.median(times) / 1e9 for name, times in seconds.items()}


def main() -> None:
    print(f"kernel: {statistics.has_kernel()}; GB/s read, one thread")
    for dtype in DTYPES:
        for size, size_bytes in SIZES.items():
            rates = gb_per_second(dtype, size_bytes)
            figures = "  ".join(f"{name} {rate:6.2f}" for name, rate in rates.items())
            print(f"{np.dtype(dtype).name:9} {size:>6}  {figures}")


if __name__ == "__main__":
    main()
