"""What tests that look at runs are given."""

from __future__ import annotations

import pytest

from tests.support.looked_at import make_runs_folder


@pytest.fixture
def runs_folder(tmp_path):
    """The folder of ``make_runs_folder``."""
    return make_runs_folder(tmp_path)
