"""The titles of findings, beside the rules that make them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stepwatch.rules
from stepwatch.judge.parameters import GROUP
from stepwatch.model.titles import REASONS, TITLES
from stepwatch.plugins import registry

_SOURCES = "".join(path.read_text() for path in Path(stepwatch.rules.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("key", TITLES)
def test_a_title_is_of_a_condition_that_a_rule_has(key):
    """Else a rule that was renamed would lose its title in silence."""
    rule, _, condition = key.partition(":")
    assert rule in registry.names(GROUP)
    assert not condition or re.search(rf'["{{]\'?{condition}["\' ]', _SOURCES)


@pytest.mark.parametrize("why", REASONS)
def test_a_reason_is_one_that_rules_give(why):
    assert f'"{why}"' in _SOURCES
