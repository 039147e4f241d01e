"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.browser.browser_fixtures import browser, screenshot

__all__ = ["browser", "screenshot"]
