"""The page on hook configurations leaves nothing out that can be set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepwatch.formats.smdebug.collections import REDUCTIONS, SCALAR_COLLECTIONS
from stepwatch_smdebug.config.frameworks import FRAMEWORKS
from stepwatch_smdebug.config.hook_config import KEYS

PAGE = (Path(__file__).parents[2] / "docs" / "debugger-config.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`\n]+)`", PAGE))
BUILT_IN = {name for one in FRAMEWORKS.values() for name in one.collections}


class TestThePage:
    @pytest.mark.parametrize("key", sorted({key.split(".")[-1] for key in KEYS}))
    def test_describes_every_key(self, key):
        """At the top, of the hook and of a collection."""
        assert key in NAMED

    @pytest.mark.parametrize("name", sorted({*BUILT_IN, *REDUCTIONS, *SCALAR_COLLECTIONS}))
    def test_names_every_collection_and_reduction(self, name):
        """What is built in, what can be stored."""
        assert name in NAMED
