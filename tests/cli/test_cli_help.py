"""``stepwatch --help`` and ``--version``: complete, and light to load."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest

import stepwatch
from stepwatch.cli.console import progress_console
from stepwatch.cli.main import GROUP, VERBS, command
from stepwatch.plugins import registry

SUMMARIES = {name: text for group in VERBS.values() for name, text in group.items()}
# Runs the command line with the arguments given and says which modules that took.
MODULES = """
import sys
from stepwatch.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""
OTHERS = '''
import click

@click.command()
def nod():
    """Nod at RUN. Twice."""
'''


def modules(*arguments):
    """Return the names of all modules that a call of ``stepwatch`` loads."""
    return subprocess.run(
        [sys.executable, "-c", MODULES, *arguments], capture_output=True, text=True, check=True
    ).stderr.split()


class TestHelp:
    @pytest.mark.parametrize("name", sorted(SUMMARIES))
    def test_a_summary_is_the_first_sentence_of_its_verb(self, name):
        """What the help says of a verb is what the verb says of itself."""
        docstring = registry.load(GROUP, name).get_short_help_str(limit=1000)
        assert docstring.rstrip(".") == SUMMARIES[name]

    def test_every_verb_of_ours_stands_under_one_heading(self):
        """One that is added to pyproject.toml is added to the help."""
        loaded = {name: registry.load(GROUP, name) for name in registry.names(GROUP)}
        ours = [x for x, verb in loaded.items() if verb.callback.__module__.startswith("stepwatch")]

        assert sorted(ours) == sorted(SUMMARIES)
        assert len(SUMMARIES) == sum(map(len, VERBS.values()))

    def test_a_line_of_a_terminal_holds_each_verb(self, verb, monkeypatch):
        """In 80 columns nothing is cut, and nothing wrapped."""
        monkeypatch.setenv("COLUMNS", "80")
        status, out, _ = verb("--help")
        lines = [line.split(maxsplit=1) for line in out.splitlines()]

        assert 0 == status
        assert [] == [row for row in SUMMARIES.items() if list(row) not in lines]

    def test_it_loads_no_verb_and_nothing_heavy(self):
        """Of our modules a handful, and neither arrays nor tables nor colours."""
        loaded = modules("--help")
        ours = [name for name in loaded if name.split(".")[0] == "stepwatch"]

        assert 6 >= len(ours), ours
        assert set() == {"numpy", "pyarrow", "rich"} & set(loaded)

    def test_verbs_of_other_packages_stand_last(self, tmp_path, python):
        """Each with its first sentence, or with why it cannot be had."""
        info = tmp_path / "others-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "[stepwatch.commands]\nnod = others:nod\nnap = others:gone\n"
        )
        (tmp_path / "others.py").write_text(OTHERS)
        out = python("-m", "stepwatch", "--help").stdout
        last = out[out.index("Of other packages:") :]

        assert "nod       Nod at RUN\n" in last
        assert "nap       the command 'nap' of others" in last


class TestVersion:
    def test_it_says_whether_the_kernel_is_compiled(self, verb, monkeypatch):
        """Without one everything works, slower."""
        start = f"stepwatch {stepwatch.__version__} (kernel: "
        assert verb("--version")[1] in (
            f"{start}compiled)\n",
            f"{start}NumPy, about ten times slower)\n",
        )

        monkeypatch.setitem(sys.modules, "stepwatch._kernel", None)
        assert f"{start}NumPy, about ten times slower)\n" == verb("--version")[1]

    def test_it_loads_nothing_heavy(self):
        """It is asked for by scripts."""
        assert set() == {"numpy", "pyarrow", "rich"} & set(modules("--version"))


def every_verb(group=command, before=""):
    """Yield each verb with its name, also those below others."""
    names = registry.names(GROUP) if group is command else group.commands
    for name in names:
        verb = group.get_command(click.Context(group), name)
        if isinstance(verb, click.Group):
            yield from every_verb(verb, f"{before}{name} ")
        else:
            yield f"{before}{name}", verb


#: What a letter stands for, whichever verb has it.
LETTERS = {
    "-o": {"--output", "--run"},
    "-q": {"--quiet"},
    "-v": {"--verbose"},
    "-y": {"--yes"},
    "-f": {"--follow"},
    "-m": set(),
}


class TestFlags:
    @pytest.mark.parametrize(("name", "verb"), list(every_verb()), ids=lambda one: str(one)[:20])
    def test_a_letter_stands_for_the_same_everywhere(self, name, verb):
        for option in (one for one in verb.params if isinstance(one, click.Option)):
            for letter in (one for one in option.opts if not one.startswith("--")):
                assert set(option.opts) - {letter} <= LETTERS[letter]
        known = {letter for one in verb.params for letter in one.opts}
        assert {"-o", "-q", "-v", "--no-color"} <= known

    def test_no_verb_prints_colors_that_are_not_wanted(self, verb, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        shown = [verb("rules", *options)[1] for options in ((), ("--no-color",))]
        assert all("loss_spike" in one for one in shown)
        assert "\x1b[3" not in shown[1]

    def test_every_verb_prints_into_a_file(self, verb, tmp_path):
        file = tmp_path / "rules.json"
        status, out, _ = verb("rules", "--json", "-o", file)
        assert (0, "") == (status, out)
        assert json.loads(file.read_text())["rules"]

        status, _, err = verb("rules", "-o", tmp_path / "none" / "rules.txt")
        assert 2 == status
        assert "No such file or directory" in err

    def test_of_an_error_it_is_shown_where_it_was_raised(self, verb, tmp_path):
        shown = [verb("verify", tmp_path / "none", *options)[2] for options in ((), ("-v",))]
        assert ["Traceback" in one for one in shown] == [False, True]

    @pytest.mark.parametrize("option", ["--no-color", "--quiet"])
    def test_what_is_under_way_is_shown_as_asked(self, option):
        with click.Context(command) as context:
            context.meta[option] = True
            shown = progress_console()

        assert (option == "--no-color", option == "--quiet") == (shown.no_color, shown.quiet)

    def test_the_options_of_run_stand_under_headings(self, verb):
        out = verb("run", "--help")[1]
        assert "Judge and react:" in out
        _, run = next(one for one in every_verb() if one[0] == "run")
        assert all(one.opts[0] in out for one in run.params if isinstance(one, click.Option))


class TestCompletion:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("stepwatch sho", "plain,show"),
            ("stepwatch check --for", "plain,--format"),
            ("stepwatch show la", "plain,latest"),
            ("stepwatch show runs/", "plain,runs/a"),
            ("stepwatch show a", "plain,a"),
        ],
    )
    def test_verbs_options_and_runs_are_completed(self, words, expected, tmp_path):
        (tmp_path / "runs" / "a" / "end").mkdir(parents=True)
        variables = {
            "_STEPWATCH_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = subprocess.run(
            [sys.executable, "-m", "stepwatch"],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )

        assert [expected] == done.stdout.split()
