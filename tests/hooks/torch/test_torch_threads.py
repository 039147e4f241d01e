"""Statistics of large tensors are computed by torch's threads, and are the same without them."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
import torch

from stepwatch.hooks.torch.process import _addresses, share_threads
from stepwatch.numerics.statistics import has_kernel, summarize

pytestmark = pytest.mark.skipif(not has_kernel(), reason="numpy computes in one thread")
SIZES = (1, 32_768, 32_769, 100_000, 9_000_001)


@pytest.fixture(autouse=True)
def torch_threads():
    """Let torch have two threads; afterwards nobody is helped."""
    before = torch.get_num_threads()
    yield torch.set_num_threads(2)
    share_threads(shared=False)
    torch.set_num_threads(before)


def rows(values):
    """Return the statistics of one array, alone and helped."""
    share_threads(shared=False)
    alone = summarize(values)
    share_threads(shared=True)
    return alone, summarize(values)


class TestThreads:
    def test_the_library_of_torch_is_found(self):
        """On Linux torch brings one; else this would test nothing."""
        assert 4 == len(_addresses())

    @pytest.mark.slow
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
    def test_the_bits_are_the_same(self, size, dtype):
        """How an array is cut depends on its size alone."""
        values = np.random.default_rng(0).normal(size=size).astype(dtype)
        values[size // 2] = 0
        alone, helped = rows(values)

        np.testing.assert_array_equal(alone, helped)
        np.testing.assert_allclose(alone[7], values.sum(dtype=np.float64), rtol=1e-9, atol=1e-6)

    def test_what_is_not_finite_is_counted_in_every_piece(self):
        """One of each kind, at both ends and in the middle."""
        values = np.ones(500_000, np.float32)
        values[[0, 250_000, -1]] = np.nan, np.inf, -np.inf
        alone, helped = rows(values)

        np.testing.assert_array_equal(alone, helped)
        assert [500_000, 1, 1, 1] == list(helped[:4])

    def test_a_thread_that_did_not_ask_is_not_helped_and_gets_the_same(self):
        """The background thread computes alone, whatever the training thread does."""
        values = np.random.default_rng(0).normal(size=1_000_000)
        alone, _ = rows(values)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(summarize(values)))
        thread.start()
        thread.join()

        np.testing.assert_array_equal(alone, seen[0])

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_a_forked_child_computes_alone(self):
        """The threads stayed with its parent; to wait for them would be for ever."""
        values = torch.ones(1_000_000)
        share_threads(shared=True)
        values.add_(0)  # the team is there
        child = os.fork()
        if child == 0:
            os._exit(int(summarize(values.numpy())[7] != 1_000_000))

        assert (child, 0) == os.waitpid(child, 0)
