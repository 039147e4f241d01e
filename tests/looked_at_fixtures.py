"""What tests that look at runs are given.

Test modules name this one in ``pytest_plugins``.
"""

from __future__ import annotations

import pytest

from looked_at import make_runs_folder


@pytest.fixture
def runs_folder(tmp_path):
    """The folder of ``make_runs_folder``."""
    return make_runs_folder(tmp_path)
