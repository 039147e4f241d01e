"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.compat.pytorch_hooks import no_hook_left, out

__all__ = ["no_hook_left", "out"]
