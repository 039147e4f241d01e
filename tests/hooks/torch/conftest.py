"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.hooks.torch.hook_fixture import every_fifth, nothing_compiled, watched
from tests.support.hooks.torch.registered_runs import registered

__all__ = ["every_fifth", "nothing_compiled", "registered", "watched"]
