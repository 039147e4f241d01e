"""``stepwatch check``: causes for people and for machines; and what ``run`` tells of them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepwatch.cli.progress import FindingDedup, Progress
from stepwatch.cli.session import SaveCosts
from stepwatch.formats.manifest import End
from stepwatch.judge.root_cause import Chain, Consequence, StepOrder, chains
from stepwatch.judge.verdict import episodes
from stepwatch.model.finding import Finding
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS
from stepwatch.plugins import registry
from stepwatch.rules import DEFAULT_RULES, parse_rules
from stepwatch.store import open_store
from stepwatch.testing import make_run
from tests.support.looked_at import judge

ORIGIN = Finding("non_finite_origin", 5, "output/1", "made there", severity="error",
                 evidence={"cause": "output"})  # fmt: skip
EXPLODED = Finding("exploding_tensor", 5, "output/1", "it is nan", severity="error")
LONG = """\
from stepwatch import Finding, Rule

class Long(Rule):
    name = "long"

    def check(self, step):
        if step.number == 12:
            yield Finding(self.name, step.number, "", "so many")
"""
STUCK = Finding("loss_not_decreasing", 30, "loss/L", "it rose", remedy="look at the data")


def hidden(findings):
    """Return which findings are only counted where all are to be shown."""
    told = FindingDedup(StepOrder())
    found = []
    for finding in findings:
        told.add(finding)
        found.append(told.hides(finding))
    return found


class TestForPeople:
    def test_a_cause_is_told_with_what_followed_and_how_to_confirm_it(self, verb, spoiled):
        """One finding in full; the other is counted with its cause."""
        folder, _, _ = spoiled
        status, out, _ = verb("check", folder / "run")
        lines = out.splitlines()

        assert 1 == status
        assert "✕ First value that is not finite, step 5" == lines[0]
        assert "the data are not finite" in lines[1]
        assert "  error · step 5 · rule non_finite_origin" in lines
        assert "  follows from it: values are NaN or infinite (step 5)" in lines
        assert any(f"stepwatch replay {folder / 'run'} --step 5" in line for line in lines)
        assert not any("exploding_tensor" in line for line in lines)
        assert any("checks passed, 2 found something" in line for line in lines)

    def test_with_all_every_finding_is_told(self, verb, spoiled):
        """Beneath its cause."""
        folder, _, _ = spoiled
        _, out, _ = verb("check", folder / "run", "--all")

        assert [
            "error · step 5 · rule non_finite_origin",
            "error Values are NaN or infinite, step 5 · rule exploding_tensor",
        ] == [line.strip() for line in out.splitlines() if line.strip().startswith("error ")]

    def test_a_cause_is_as_severe_as_the_headline_above_it(self, verb, tmp_path):
        """It is a warning by itself, and what came of it is an error."""
        stale = Finding("untrained_parameter", 6, "", "stale", condition="zero_grad", onset=0)
        store = open_store(make_run(tmp_path / "run", steps=8))
        judge(store, [stale, replace(EXPLODED, step=7)])
        _, out, _ = verb("show", tmp_path / "run")

        assert out.startswith("✕ Gradients not zeroed")
        assert "  error · step 6 · rule untrained_parameter" in out.splitlines()
        assert not re.search("^warning", out, re.MULTILINE)

    def test_more_causes_than_can_be_read_are_counted(self, verb, tmp_path):
        """Five; ``--all`` shows the others."""
        rule = tmp_path / "many.py"
        rule.write_text(
            "from stepwatch import Finding, Rule\n"
            "class Many(Rule):\n"
            "    name = 'many'\n"
            "    def check(self, step):\n"
            "        yield Finding(self.name, step.number, f'{step.number}.weight', 'again',\n"
            "            condition=f'number {step.number}')\n"
        )
        make_run(tmp_path / "run", steps=9)
        _, out, _ = verb("check", tmp_path / "run", "--rules", f"{rule}:Many")
        _, everything, _ = verb("check", tmp_path / "run", "--rules", f"{rule}:Many", "--all")

        assert "and 4 more causes with 4 findings (--all lists them)" in out
        assert (5, 9) == (out.count("rule many"), everything.count("rule many"))


class TestForMachines:
    def test_the_verdict_holds_what_a_program_needs_to_go_on(self, verb, spoiled):
        """Cause, numbers, remedy, what would confirm it, and what was not looked at."""
        folder, _, _ = spoiled
        status, out, _ = verb("check", folder / "run", "--json")
        verdict = json.loads(out)
        (chain,) = verdict["chains"]

        assert (1, "found", 1) == (status, verdict["verdict"], verdict["exit_status"])
        assert 2 == verdict["schema_version"]
        assert chain["cause"] == verdict["headline"]["cause"]
        assert ("non_finite_origin", 5) == (chain["cause"]["rule"], chain["cause"]["step"])
        assert "data" == chain["cause"]["evidence"]["cause"]
        assert chain["cause"]["remedy"] == chain["remedy"] != ""
        assert f"stepwatch replay {folder / 'run'} --step 5" in chain["confirm"]
        assert [("exploding_tensor", True)] == [
            (one["rule"], one["certain"]) for one in chain["consequences"]
        ]
        assert sorted(chain["finding_ids"]) == sorted(
            finding["finding_id"] for finding in verdict["findings"]
        )
        assert {"could_not_judge", "not_asked", "not_captured", "workers_not_seen"} == {
            *chain["not_checked"]
        }
        assert "overfit" in [status["rule"] for status in verdict["not_checked"]]

    @pytest.mark.parametrize(
        ("rules", "verdict"),
        [
            ("exploding_tensor", "no problem seen"),
            ("overfit", "not judged"),
            ("none", "not judged"),
        ],
    )
    def test_healthy_is_only_what_was_judged(self, verb, tmp_path, rules, verdict):
        """The exit status is 0 for both: nothing was found."""
        make_run(tmp_path / "run", steps=20)
        status, out, _ = verb("check", tmp_path / "run", "--rules", rules, "--json")

        assert (0, verdict, []) == (status, json.loads(out)["verdict"], json.loads(out)["chains"])

    def test_several_runs_are_one_document(self, verb, tmp_path):
        """Each as if it were asked for alone; the exit status is the worst."""
        rule = tmp_path / "second.py"
        rule.write_text(LONG)
        asked = ("--rules", f"exploding_tensor; {rule}:Long")
        runs = [tmp_path / "one", tmp_path / "two"]
        for run, steps in zip(runs, (10, 20), strict=True):
            make_run(run, steps=steps)
        status, out, _ = verb("check", *runs, *asked, "--json")
        alone = [json.loads(verb("check", run, *asked, "--json")[1]) for run in runs]
        _, told, _ = verb("check", *runs, *asked)

        assert 1 == status
        assert {"schema_version": 2, "exit_status": 1, "runs": alone} == json.loads(out)
        assert [0, 1] == [one["exit_status"] for one in alone]
        assert [str(run) for run in runs] == [
            line for line in told.splitlines() if line in map(str, runs)
        ]

    def test_a_folder_and_a_pattern_stand_for_the_runs_beneath_them(self, verb, tmp_path):
        for name in ("deep/one", "deep/two", "three"):
            make_run(tmp_path / name, steps=5)
        asked = ("--rules", "exploding_tensor", "--json")

        def checked(*names):
            document = json.loads(verb("check", *names, *asked)[1])
            return [Path(one["run"]).name for one in document.get("runs", [document])]

        assert ["one", "two", "three"] == checked(tmp_path)
        assert ["two", "three"] == checked(f"{tmp_path}/*t[wh]*")
        assert ["two", "one"] == checked(tmp_path / "deep/two", f"{tmp_path}/deep/*")

    def test_a_pattern_that_no_run_fits_is_an_error_of_one_line(self, verb, tmp_path):
        make_run(tmp_path / "one", steps=5)
        status, out, err = verb("check", f"{tmp_path}/other*")

        assert (2, "", 1) == (status, out, len(err.splitlines()))
        assert f"stepwatch runs {tmp_path}" in err

    def test_what_cannot_be_done_is_status_two(self, verb, tmp_path):
        status, out, err = verb("check", tmp_path / "nowhere", "--json")

        assert (2, "", 1) == (status, out, len(err.splitlines()))


class TestManyRuns:
    """Of many runs each is a line, what to look at first on top."""

    @pytest.fixture
    def fleet(self, tmp_path):
        """Nine short runs, a longer one that a rule objects to, and one that cannot be read."""
        for number in range(9):
            make_run(tmp_path / f"fleet/well-{number}", steps=5)
        make_run(tmp_path / "fleet/zz-long", steps=20)
        (tmp_path / "fleet/torn").mkdir()
        (tmp_path / "fleet/torn/run.json").write_text("{\n")
        (tmp_path / "long.py").write_text(LONG)
        return tmp_path / "fleet", "--rules", f"exploding_tensor; {tmp_path / 'long.py'}:Long"

    def test_the_worst_come_first_and_none_ends_the_others(self, verb, fleet):
        status, out, _ = verb("check", *fleet)

        lines = [line.split(maxsplit=2) for line in out.splitlines() if line[0] in "✕!–"]
        assert 2 == status
        assert ["✕", "!", "–"] == [mark for mark, *_ in lines[:3]]
        assert [f"{fleet[0]}/{name}" for name in ("torn", "zz-long", "well-0")] == [
            run for _, run, _ in lines[:3]
        ]
        assert "cannot be judged: run.json is damaged" in " ".join(lines[0])
        assert "11 runs: 1 with warnings, 9 not fully checked, 1 could not be judged" in out

    def test_a_document_has_them_in_their_order(self, verb, fleet):
        """Each as if it were asked for alone, but for what could not be judged."""
        _, out, _ = verb("check", *fleet, "--json")
        runs = json.loads(out)["runs"]
        alone = json.loads(verb("check", fleet[0] / "zz-long", *fleet[1:], "--json")[1])

        assert sorted(one["run"] for one in runs) == [one["run"] for one in runs]
        assert alone == runs[-1]
        assert ["run", "error"] == list(runs[0])

    def test_advice_names_each_run(self, verb, fleet):
        _, out, _ = verb("check", *fleet, "--format", "advice")

        assert 11 == len(out.splitlines())
        assert out.startswith(f"{fleet[0]}/torn: cannot be judged")


class TestWhileItTrains:
    def test_a_consequence_is_counted_not_told(self, spoiled):
        """The origin is told; what follows stands in the summary, with its cause."""
        _, _, watched = spoiled
        lines = watched.stderr.splitlines()

        assert 0 == sum("rule exploding_tensor" in line for line in lines)
        assert "stepwatch:     follows from it: values are NaN or infinite (step 5)" in lines

    def test_what_is_worse_than_its_cause_is_shown(self):
        """A warning does not stand for an error."""
        cause = Finding("learning_rate_anomaly", 1, "learning_rate/0", "it jumped")

        assert [False, False, True] == hidden([cause, ORIGIN, EXPLODED])

    def test_what_was_not_shown_stands_for_nothing(self):
        """Where only some rules are to be shown, what follows from another is shown."""
        told = FindingDedup(StepOrder())
        told.add(ORIGIN)
        told.add(STUCK)

        assert not told.hides(STUCK)

    @pytest.mark.parametrize("quiet", [False, True])
    def test_nothing_is_hidden_in_silence(self, quiet):
        """With ``--quiet`` there is no summary, so what was only counted is said at the end."""
        stream = io.StringIO()
        progress = Progress("runs/a", quiet=quiet, stream=stream)
        findings = [ORIGIN, EXPLODED, STUCK]
        for finding in findings:
            progress.count(finding)
            progress.hides(finding)
        progress.summary(End("finished", 0, 8), findings, [])
        said = stream.getvalue()

        assert quiet == ("2 more findings may follow from these" in said)
        assert quiet != ("follows from it: values are NaN or infinite (step 5)" in said)
        assert quiet != ("may follow from it: loss does not fall (step 30)" in said)


class TestRemedies:
    """What to do about a finding is told when it is found, and at the end of a long training."""

    @pytest.mark.parametrize("passed_s", [10.0, 1000.0])
    def test_what_was_shown_a_moment_ago_is_not_repeated(self, monkeypatch, passed_s):
        """It still stands above the end of a short training; that of a long one is out of sight."""
        now = [0.0]
        monkeypatch.setattr("stepwatch.cli.progress.time.monotonic", lambda: now[0])
        stream = io.StringIO()
        progress = Progress("runs/a", stream=stream)
        progress.count(STUCK)
        progress.hides(STUCK)
        now[0] += passed_s
        progress.summary(End("finished", 0, 40), [STUCK], [])

        assert (passed_s > 100) == ("look at the data" in stream.getvalue())
        assert "stepwatch:   It rose\n" in stream.getvalue()

    def test_what_was_not_shown_before_is_told_at_the_end(self):
        """As what is found only then."""
        stream = io.StringIO()
        Progress("runs/a", stream=stream).summary(End("finished", 0, 40), [STUCK], [])

        assert "stepwatch:   look at the data\n" in stream.getvalue()


class TestEpisodes:
    """What is found again, once its episode is over, is one cause in the summary."""

    FOUND = tuple(
        Finding("chance_level", step, "loss/L", f"as good as guessing at step {step}")
        for step in (400, 900, 1300)
    )

    def test_a_cause_is_told_once(self):
        stream = io.StringIO()
        Progress("runs/a", stream=stream).summary(End("finished", 0, 2000), self.FOUND, [])
        said = stream.getvalue()

        assert said.startswith(
            "stepwatch: No better than guessing, step 400\n"
            "stepwatch:   As good as guessing at step 400\n"
        )
        assert "stepwatch:   step 400 · rule chance_level\n" in said
        assert "stepwatch:     3 times, steps 400 to 1300\n" in said
        assert 1 == said.lower().count("as good as guessing")

    @pytest.mark.parametrize(
        "other", [{"evidence": {"cause": "other"}}, {"condition": "other"}, {"worker": "worker_1"}]
    )
    def test_what_is_of_something_else_is_told_by_itself(self, other):
        first, second = (replace(one, rule="mine") for one in self.FOUND[:2])
        found = episodes(chains([first, replace(second, **other)]))

        assert [(400,), (900,)] == [one.steps for one in found]

    def test_the_same_of_several_layers_is_told_once_and_names_them(self):
        """As people call them, whatever was noted of each."""
        names = ("setup/uncalled/fc", "setup/uncalled/head", "setup/uncalled/head")
        steps = (10, 10, 900)
        (found,) = episodes(
            Chain(Finding("setup", step, name, "", condition=f"uncalled {name}"))
            for step, name in zip(steps, names, strict=True)
        )

        assert "in layer fc, layer head: 3 times, steps 10 to 900" == found.again

    def test_what_follows_from_itself_is_told_with_its_cause(self):
        """What else follows is counted as ever."""
        (found,) = episodes([Chain(self.FOUND[0], tuple(
            Consequence(one, certain=False) for one in (self.FOUND[1], STUCK)
        ))])  # fmt: skip

        assert [
            "2 times, steps 400 to 900",
            "may follow from it: loss does not fall (step 30)",
        ] == found.lines()

    def test_another_sign_in_the_same_words_is_no_consequence(self):
        """As of a schedule that is too slow, and is so at the end."""
        again = replace(self.FOUND[1], condition="at_the_end")
        (found,) = episodes([Chain(self.FOUND[0], (Consequence(again, certain=False),))])

        assert ["2 times, steps 400 to 900"] == found.lines()

    @pytest.mark.parametrize(("show", "times"), [((), 1), (("--all",), 3)])
    def test_check_tells_all_only_if_asked(self, verb, tmp_path, show, times):
        rule = tmp_path / "again.py"
        rule.write_text(
            "from stepwatch import Finding, Rule\n"
            "class Again(Rule):\n"
            "    name = 'again'\n"
            "    def check(self, step):\n"
            "        if step.number in (3, 9, 15):\n"
            "            yield Finding(self.name, step.number, '', 'so many')\n"
        )
        make_run(tmp_path / "run", steps=20)
        asked = f"{rule}:Again:cooldown_steps=2"
        _, out, _ = verb("check", tmp_path / "run", "--rules", asked, *show)

        assert times == out.lower().count("so many")
        assert (times == 1) == ("3 times, steps 3 to 15" in out)


class TestRules:
    def test_they_are_listed_with_what_they_need_and_save(self, verb):
        """For people and, with parameters, for machines."""
        _, out, _ = verb("rules")
        _, document, _ = verb("rules", "--json")
        rules = {one["rule"]: one for one in json.loads(document)["rules"]}

        assert {*registry.names("stepwatch.rules")} == {*rules}
        assert all(name in out for name in rules)
        assert all(one["looks_for"] for one in rules.values())
        assert ["activity:raw:every=10"] == rules["dead_relu"]["saves"]
        assert 10 == rules["untrained_parameter"]["parameters"]["k"]
        assert {*DEFAULT_RULES} == {one["default"] for one in rules.values()} - {""}


class TestSavedFor:
    def test_what_a_rule_costs_is_said_once(self):
        """At the first step that holds it."""
        said: list[str] = []
        saved_for = SaveCosts(parse_rules("dead_relu; loss_spike"), said.append)
        layout = Layout(
            (
                TensorInfo("active/1", "activity", "float32", (8,)),
                TensorInfo("active/3", "activity", "float32", (8,)),
                TensorInfo("loss/L", "losses", "float32", ()),
            )
        )
        values = {f"active/{number}": np.zeros(8, np.float32) for number in (1, 3)}
        rows = np.zeros((3, NUM_FIELDS))
        for step, raw in enumerate(({}, values, values)):
            saved_for.on_step(StepRecord("worker_0", Mode.TRAIN, step, step, 0, layout, rows, raw))

        assert [
            "saving for dead_relu: activity:raw:every=10, 2 tensors, 64 bytes at each time"
        ] == said
