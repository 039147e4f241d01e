"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.rules.one_thread import one_thread

__all__ = ["one_thread"]
