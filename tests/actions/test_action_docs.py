"""The page about actions leaves nothing out that can be set, and says the defaults that hold."""

from __future__ import annotations

import inspect
import re
import shlex
import typing
from dataclasses import fields
from pathlib import Path

import pytest

from stepwatch.actions.policy import GROUP, Terms, find_action, parse_actions
from stepwatch.formats.findings import ActionNote
from stepwatch.plugins import registry
from stepwatch.plugins.specs import convert

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "actions.md").read_text(encoding="utf-8")
NAMES = registry.names(GROUP)


def section(title):
    """Return what stands under a heading, up to the next heading."""
    return re.split(r"^#+ ", TEXT.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text):
    """Return the other cells of all rows, by each name in backticks in the first."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells:
            found |= dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[1:])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_stands_in_its_table_with_its_default(name):
    kind = find_action(name)
    parameters = inspect.signature(kind).parameters.values()
    hints = typing.get_type_hints(kind.__init__)
    described = rows(section(name)) if parameters else {}
    for parameter in parameters:
        written = described[parameter.name][0].strip("`")
        if parameter.default is parameter.empty:
            assert "required" == written
        else:
            value = "" if written == "empty" else written
            assert parameter.default == convert(name, value, hints[parameter.name])


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_is_said(name):
    often, least = rows(section("Terms that every action has"))[name]
    kind = find_action(name)

    assert (None if often == "always" else int(often)) == kind.at_most
    if name != "skip_batch":
        assert least.strip("`") == kind.least_severity


@pytest.mark.parametrize("field", fields(Terms), ids=lambda field: field.name)
def test_every_term_is_described(field):
    written = rows(section("Terms that every action has"))[field.name][0].strip("`")
    hint = typing.get_type_hints(Terms)[field.name]
    assert field.default == convert(field.name, "" if written == "empty" else written, hint)


def test_every_field_of_the_log_is_described():
    described = rows(section("What was done: the audit log"))
    assert [field.name for field in fields(ActionNote)] == list(described)


def test_every_policy_on_the_pages_can_be_meant(monkeypatch):
    """Files aside."""
    pytest.importorskip("apprise")
    monkeypatch.setenv("STEPWATCH_NOTIFY_URLS", "json://localhost")
    monkeypatch.setenv("STEPWATCH_SMTP_HOST", "localhost")
    monkeypatch.setenv("STEPWATCH_WEBHOOK_URL", "https://example.org")
    texts = [TEXT, (DOCS / "start.md").read_text(encoding="utf-8")]
    lines = [line for text in texts for line in text.splitlines() if "--on-finding" in line]
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("stepwatch ")]
    policies = [line[line.index("--on-finding") + 1] for line in words]

    assert len(policies) > 4
    for policy in policies:
        if not policy.endswith(".json"):
            parse_actions(policy)
