"""What agents and schedulers read: the verdict by its schema, one word, and the skill."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from stepwatch.judge.advice import advise
from stepwatch.judge.headline import RunState, headline
from stepwatch.judge.root_cause import Chain
from stepwatch.model.finding import Finding
from stepwatch.testing import make_run
from tests.support import ROOT

SCHEMA = json.loads((ROOT / "docs/schemas/verdict.schema.json").read_text())


class TestSchema:
    def test_what_check_prints_is_what_the_schema_says(self, verb, spoiled, tmp_path):
        """Of a run with findings and of one without; a key that is new is in the schema."""
        made = make_run(tmp_path / "run", steps=20)
        for run in (spoiled[0] / "run", made):
            document = json.loads(verb("check", run, "--json")[1])
            jsonschema.validate(document, SCHEMA)

            assert set(SCHEMA["required"]) == set(document)


class TestAdvice:
    @pytest.mark.parametrize(
        ("state", "finding", "line"),
        [
            ("finished", None, "CONTINUE: Not judged"),
            ("running", ("loss_spike", "warning", 30), "CONTINUE: Loss spike, step 30: M"),
            ("running", ("non_finite_origin", "error", 30), "ROLL_BACK step 30: m"),
            ("failed", ("non_finite_origin", "error", 30), "ROLL_BACK step 30: m"),
            ("running", ("non_finite_origin", "error", 0), "STOP: m"),
            ("running", ("loss_input", "error", 30), "STOP: m"),
            ("died", None, "RESTART: Killed (SIGKILL or out of memory) after step 99"),
            ("stalled", None, "RESTART: Stalled after step 99"),
            ("failed", None, "STOP: Failed after step 99"),
            (
                "died",
                ("overfit", "warning", 5),
                "RESTART: Killed (SIGKILL or out of memory) after step 99",
            ),
        ],
    )
    def test_a_scheduler_gets_one_word(self, state, finding, line):
        """Only what is severe, or ended the training, asks for anything."""
        chains = []
        if finding:
            rule, severity, step = finding
            chains = [Chain(Finding(rule, 40, "", "m", severity=severity, mode_step=step), ())]
        advice = advise(headline(RunState(state, 100, 99), chains, []))

        assert advice.line().startswith(line)

    def test_it_is_printed_for_each_run(self, verb, spoiled, tmp_path):
        made = make_run(tmp_path / "run", steps=20)
        status, out, _ = verb("check", spoiled[0] / "run", made, "--format", "advice")

        assert 1 == status
        assert ["ROLL_BACK step 5", "CONTINUE"] == [line.split(":")[0] for line in out.splitlines()]


class TestSkill:
    def test_it_is_installed_where_agents_look(self, verb, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for options in ((), ("--for", "agents"), ("--user",), ("--to", "mine")):
            assert 0 == verb("skill", "install", *options)[0]
        shown = verb("skill", "show")[1]
        folders = (".claude/skills", ".agents/skills", "home/.claude/skills", "mine")

        assert [shown] * 4 == [(tmp_path / f / "stepwatch/SKILL.md").read_text() for f in folders]
        assert shown.startswith("---\nname: stepwatch\ndescription: ")

    def test_what_it_tells_agents_to_run_exists(self, verb):
        """Each verb and option that it names has help."""
        named = re.findall(r"`stepwatch (\w+)([^`]*)`", verb("skill", "show")[1])
        for name, rest in named:
            status, out, _ = verb(name, "--help")
            assert 0 == status
            assert [] == [flag for flag in re.findall(r"--[\w-]+", rest) if flag not in out]

    def test_a_folder_that_cannot_be_written_is_one_line(self, verb, tmp_path):
        (tmp_path / "file").touch()
        status, _, err = verb("skill", "install", "--to", tmp_path / "file")

        assert (2, 1) == (status, len(err.splitlines()))


def test_every_page_that_llms_txt_names_is_there():
    text = (ROOT / "docs/llms.txt").read_text()
    pages = re.findall(r"\]\(([\w.-]+)\)", text)

    assert pages
    assert [] == [page for page in pages if not (ROOT / "docs" / page).is_file()]


def test_where_no_run_was_made_yet_none_are_listed(verb, tmp_path, monkeypatch):
    """The folder of the defaults may be missing; one that was named may not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEPWATCH_RUNS", raising=False)

    status, out, _ = verb("runs", "--json")
    assert (0, []) == (status, json.loads(out)["runs"])
    assert "stepwatch run train.py" in verb("runs")[1]
    assert 2 == verb("runs", "gone")[0]
