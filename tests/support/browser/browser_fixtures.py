"""A browser for the tests here; one that cannot be had fails them, and says why.""" ""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium


@pytest.fixture(scope="session")
def browser():
    """Chromium without a screen; see ``chromium.Chromium.visit``."""
    with Chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def screenshot():
    """Return a function that keeps a picture of a visit, if ``STEPWATCH_SCREENSHOTS`` is set."""
    folder = os.environ.get("STEPWATCH_SCREENSHOTS")

    def keep(visit, name, *, whole=True):
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            visit.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=whole)

    return keep
