"""The docs hold: samples run, nothing that users can set is left out, links lead somewhere."""

from __future__ import annotations

import inspect
import re
import shlex
import typing
from dataclasses import fields
from pathlib import Path

import click
import pytest

from stepwatch import registry
from stepwatch.cli.main import GROUP, command
from stepwatch.cli.run import rule_specs
from stepwatch.collection import parse_save
from stepwatch.finding import Finding
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.observations import SCHEMA
from stepwatch.rules import DEFAULT_RULES, parse_rules
from stepwatch.rules.parameters import convert, find_rule
from stepwatch.rules.scope import Scope
from stepwatch.statistics import DERIVED, FIELDS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("compat/*.md")])
RULES = registry.names("stepwatch.rules")
VERBS = registry.names(GROUP)

_BLOCK = re.compile(r"^```(\S*) ?(.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
# Cells are parted by bars, but not by those that are escaped.
_BAR = re.compile(r"(?<!\\)\|")


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def samples(page: Path) -> list[tuple[int, str]]:
    """Return line and code of every block that is marked ``python run``."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, block.start()) + 1, block[3])
        for block in _BLOCK.finditer(text)
        if (block[1], block[2]) == ("python", "run")
    ]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    titles = [re.sub(r"[`*]", "", title).lower() for _, title in _HEADING.findall(prose(page))]
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}


def section(page: Path, title: str) -> str:
    """Return what stands under a heading, up to the next of its level or above."""
    text = prose(page)
    found = next(match for match in _HEADING.finditer(text) if match[2] == title)
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of all tables whose first cell holds names in backticks, by name."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)[1:-1]]
        if cells:
            found |= dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[1:])
    return found


def command_lines(page: Path) -> list[str]:
    """Return the lines of all ``sh`` blocks that call stepwatch."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    lines = [line for language, _, code in blocks if language == "sh" for line in code.splitlines()]
    return [line for line in lines if line.startswith("stepwatch ")]


LINES = [(page_id(page), line) for page in PAGES for line in command_lines(page)]


def documented_value(cell: str) -> str:
    return "" if cell == "empty" else cell.strip("`")


class TestSamples:
    @pytest.mark.parametrize("page", [page for page in PAGES if samples(page)], ids=page_id)
    def test_every_sample_runs(self, page, tmp_path, monkeypatch):
        """The samples of a page run from top to bottom, as a reader would type them."""
        monkeypatch.chdir(tmp_path)
        namespace: dict[str, object] = {"__name__": "sample"}
        for line, code in samples(page):
            # As many empty lines before it as on the page, so that errors name the right one.
            exec(compile("\n" * line + code, str(page), "exec", dont_inherit=True), namespace)


class TestRules:
    @pytest.mark.parametrize("name", RULES)
    def test_every_rule_is_described_with_every_parameter(self, name):
        """Each parameter stands in the table of its rule, with its default."""
        kind = find_rule(name)
        described = rows(section(DOCS / "rules.md", name))
        hints = typing.get_type_hints(kind.__init__)
        for parameter in inspect.signature(kind).parameters.values():
            assert parameter.name in described
            written = documented_value(described[parameter.name][0])
            assert parameter.default == convert(parameter.name, written, hints[parameter.name])

    @pytest.mark.parametrize("field", fields(Scope), ids=lambda field: field.name)
    def test_every_common_parameter_is_described(self, field):
        described = rows(section(DOCS / "rules.md", "Parameters that every rule has"))
        written = documented_value(described[field.name][0])
        hint = typing.get_type_hints(Scope)[field.name]
        assert field.default == convert(field.name, written, hint)

    def test_the_default_set_is_the_one_that_is_described(self):
        described = rows(section(DOCS / "rules.md", "The default set"))
        specs = [
            f"{name}:{cells[0].strip('`')}".rstrip(":")
            for name, cells in described.items()
            if name in RULES
        ]
        assert list(DEFAULT_RULES) == specs
        assert {watched.name for watched in parse_rules(specs)} <= {*RULES}


class TestCommands:
    @pytest.mark.parametrize("verb", VERBS)
    def test_every_verb_and_option_is_described(self, verb):
        """Each option is shown in the first steps, as users write it."""
        text = (DOCS / "start.md").read_text(encoding="utf-8")
        found = command.get_command(click.Context(command), verb)
        assert f"stepwatch {verb}" in text
        for parameter in found.params:
            if isinstance(parameter, click.Option):
                assert [] == [option for option in parameter.opts if option not in text]

    @pytest.mark.parametrize(("page", "line"), LINES)
    def test_every_command_line_can_be_meant(self, page, line):
        """Verbs, options, rules and what to save are as the command line takes them."""
        _, verb, *arguments = shlex.split(line, comments=True)
        context = command.get_command(click.Context(command), verb).make_context(verb, arguments)
        for spec in rule_specs(context.params.get("rules", ())):
            if not spec.startswith("my_"):
                parse_rules(spec)
        for text in context.params.get("save", ()):
            parse_save(text)


class TestFormat:
    def test_every_column_is_described_with_its_type(self):
        described = rows(section(DOCS / "native-format.md", "Columns"))
        names = {
            "dictionary<values=string, indices=int32, ordered=0>": "string",
            "double": "float64",
            "list<item: int64>": "list of int64",
        }
        expected = [(field.name, names.get(str(field.type), str(field.type))) for field in SCHEMA]
        assert expected == [(name, cells[0]) for name, cells in described.items()]

    @pytest.mark.parametrize(
        ("title", "kind", "more"),
        [
            ("run.json", Manifest, {"format", "version"}),
            ("End notes", End, set()),
            ("Findings", Finding, {"finding_id"}),
        ],
    )
    def test_every_field_is_described(self, title, kind, more):
        described = rows(section(DOCS / "native-format.md", title))
        assert {field.name for field in fields(kind)} | more == set(described)

    def test_every_statistic_is_defined(self):
        described = rows(section(DOCS / "concepts.md", "Statistics"))
        assert set() == {*FIELDS, *DERIVED} - described.keys()


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=page_id)
    def test_every_relative_link_leads_somewhere(self, page):
        broken = []
        for link in _LINK.findall(prose(page)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(link)
        assert [] == broken

    @pytest.mark.parametrize(
        "page", [*PAGES, *DOCS.glob("images/*.svg")], ids=lambda page: page_id(page)
    )
    def test_no_path_of_somebodys_machine_is_shown(self, page):
        text = page.read_text(encoding="utf-8")
        assert [] == re.findall(r"(?<![\w.])(?:/home|/Users|/root|/work|/tmp|/mnt)/\S*", text)
