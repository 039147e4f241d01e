"""A fixture for tests that train: PyTorch on one thread, so that sums are always in one order."""

from __future__ import annotations

import pytest


@pytest.fixture
def one_thread():
    """Let PyTorch compute on one thread."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
