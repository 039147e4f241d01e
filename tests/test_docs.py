"""The docs hold: samples run, nothing that users can set is left out, links lead somewhere."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import runpy
import shlex
import subprocess
import sys
import typing
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from rulebench import blind
from stepwatch.cli.main import GROUP, command
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.observations import SCHEMA
from stepwatch.judge.parameters import convert, find_rule, rule_specs
from stepwatch.judge.rule import Scope
from stepwatch.model.collection import parse_save
from stepwatch.model.finding import Finding
from stepwatch.numerics.statistics import DERIVED, FIELDS
from stepwatch.plugins import registry
from stepwatch.rules import DEFAULT_RULES, parse_rules

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NEWS = sorted(ROOT.glob("changes/*"))
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("packages/*/*.md"), *NEWS])
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


class Sample(NamedTuple):
    """A block that runs, or the output of the one before.

    Fields:
        line: Where on the page it begins.
        kind: ``python``, ``sh``, ``output``, or ``file`` for a script that is written.
        text: What it holds.
        name: Of the script.
    """

    line: int
    kind: str
    text: str
    name: str = ""


def samples(page: Path) -> list[Sample]:
    """Return the blocks marked ``python run``, ``python run FILE``, ``sh run``, ``text output``."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(text):
        language, (mark, _, name) = block[1], block[2].partition(" ")
        line = text.count("\n", 0, block.start()) + 1
        if mark == "run":
            found.append(Sample(line, "file" if name else language, block[3], name))
        elif (language, mark) == ("text", "output"):
            found.append(Sample(line, "output", block[3]))
    return found


#: The script that pages other than the first speak of.
TRAINING = next(one for one in samples(DOCS / "start.md") if one.kind == "file")


def run_shell(text: str, folder: Path) -> str:
    """Run commands as a reader would, and return what the terminal shows."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {"PATH": path, "COLUMNS": "110", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env={**os.environ, **plain}, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout  # 1 is that something was found
    # On a slow machine it says in between how far it is, or that it observes fewer steps in full.
    seldom = r"^stepwatch: (step \d+  [\d.]+/s|full statistics at ).*\n"
    return re.sub(seldom, "", done.stdout, flags=re.MULTILINE)


def pattern(output: str) -> str:
    """Return what a text must match to be this output.

    Counts must be the same, but for those of rules: on a slow machine fewer steps are observed in
    full, and more rules lack data. Numbers with a point, times and folders may be others, space
    may be more or less, and ``...`` or ``…`` stands for anything.
    """
    escaped = re.escape(" ".join(output.split())).replace("\\ ", " ")
    for varying, stands_for in (
        (r"\\\.\\\.\\\.|…", r".*?"),
        (r"\d{8}\\-\d{6}", r"\\d{8}-\\d{6}(-\\d+)?"),
        (r"(\\-)?\d+\\\.\d+(e(\\-|\\\+)\d+)?", r"-?\\d+(\\.\\d+)?(e[-+]\\d+)?"),
        (r"\d+(?= (checks passed|lacked data))", r"\\d+"),
        (r"/data/runs/", r"\\S*/runs/"),
    ):
        escaped = re.sub(varying, stands_for, escaped)
    return escaped


def assert_shows(printed: str, output: str) -> None:
    """Check that an output was printed, as it stands on the page."""
    wanted, found = pattern(output), " ".join(printed.split())
    assert re.search(wanted, found), f"on the page:\n{output}\nreally printed:\n{printed}"


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


def _with_samples() -> list[object]:
    """Return the pages that have samples; those that start processes take longer."""
    return [
        pytest.param(page, marks=pytest.mark.slow) if kinds & {"sh", "file"} else page
        for page in PAGES
        if (kinds := {one.kind for one in samples(page)})
    ]


class TestSamples:
    @pytest.mark.slow
    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("page", _with_samples(), ids=page_id)
    def test_every_sample_runs_and_prints_what_is_shown(self, page, tmp_path, monkeypatch):
        """The samples of a page run from top to bottom, as a reader would type them."""
        monkeypatch.chdir(tmp_path)
        Path(TRAINING.name).write_text(TRAINING.text, encoding="utf-8")
        namespace: dict[str, object] = {"__name__": "sample"}
        printed = ""
        for line, kind, text, name in samples(page):
            if kind == "output":
                assert_shows(printed, text)
            elif kind == "file":
                Path(name).write_text(text, encoding="utf-8")
            elif kind == "sh":
                printed = run_shell(text, tmp_path)
            else:
                # As many empty lines before it as on the page: errors name the right one.
                code = compile("\n" * line + text, str(page), "exec", dont_inherit=True)
                with redirect_stdout(StringIO()) as stream:
                    exec(code, namespace)
                printed = stream.getvalue()


class TestOutput:
    @pytest.mark.parametrize(
        ("shown", "printed", "same"),
        [
            ("loss 0.0236\n", "loss 0.031", True),
            ("4 of 4 parameters", "3 of 4 parameters", False),
            ("in 2.4 s, ... runs/train-20260501-101500", "in 10.25 s, x runs/a-1", False),
            ("in 2.4 s, ... runs/a-20260501-101500", "in 12.5 s, x y runs/a-20991231-000001", True),
            ("a  0.5   1", "a    1e-05 1", True),
            ("to file:///data/runs/x", "to file:///somewhere/else/runs/x", True),
        ],
    )
    def test_what_may_differ_is_masked(self, shown, printed, same):
        """Counts may not, for they are what becomes stale."""
        assert same == bool(re.search(pattern(shown), " ".join(printed.split())))


class TestBlind:
    def test_the_first_looks_are_those_that_are_kept(self):
        page = (DOCS / "rulebench.md").read_text(encoding="utf-8")

        assert "\n".join(blind.first_looks()) in page
        assert "\n".join(blind.by_difficulty()) in page
        assert "\n".join(blind.by_framework(last=5)) in page


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

    def test_the_tables_of_parameters_are_those_that_rules_declare(self):
        """What a parameter means is said once, where it is declared: ``make rule-tables``."""
        page = (DOCS / "rules.md").read_text(encoding="utf-8")
        with_tables = runpy.run_path(str(DOCS / "rule_tables.py"))["with_tables"]

        assert with_tables(page) == page

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
    def test_every_command_line_can_be_meant(self, page, line, tmp_path, monkeypatch):
        """Verbs, options, rules and what to save are as the command line takes them."""
        for name in ("first", "second"):  # of which lines call one the latest
            (tmp_path / name / "end").mkdir(parents=True)
        monkeypatch.setenv("STEPWATCH_RUNS", str(tmp_path))
        _, verb, *arguments = shlex.split(line, comments=True)
        context = command.get_command(click.Context(command), verb).make_context(verb, arguments)
        for spec in rule_specs(context.params.get("rules", ()), DEFAULT_RULES):
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


def public_names(module):
    """Return what a module declares as public, or else what it defines."""
    own = [x for x, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    return [x for x in getattr(module, "__all__", own) if not x.startswith("_")]


class TestPublicModules:
    """The list in stability.md, from which the API reference is made."""

    @pytest.mark.parametrize("name", rows(section(DOCS / "stability.md", "What is public")))
    def test_each_is_there_and_says_what_it_holds(self, name, monkeypatch):
        """With names to import, each of them described where it is a class or a function."""
        if name in sys.modules and not public_names(sys.modules[name]):
            # pytest leaves what it could not import to the end when it collects docstrings
            monkeypatch.delitem(sys.modules, name)
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            pytest.skip(f"its framework is not installed: {error}")
        values = {x: getattr(module, x) for x in public_names(module)}
        assert values
        assert [] == [
            x
            for x, value in values.items()
            if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__
        ]


class TestNews:
    @pytest.mark.parametrize("path", NEWS, ids=page_id)
    def test_each_piece_is_named_as_towncrier_finds_it(self, path):
        """It passes over others without a word."""
        kinds = "added|changed|deprecated|removed|fixed|security"
        assert re.fullmatch(rf"(\+[\w-]+|\d+)\.({kinds})\.md", path.name)


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
