"""The run report joins findings, steps and machine, and says what is not known."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest

from stepwatch.errors import ConfigError
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.findings import write_findings, write_statuses
from stepwatch.formats.manifest import End, Manifest
from stepwatch.judge.engine import RuleStatus
from stepwatch.model.finding import Finding
from stepwatch.report import report, report_page, suits
from stepwatch.report.document import Cause, Chart, Table, Text
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run
from stepwatch.trial import Trial
from tests.support.report.profiled_runs import START_NS, STEP_NS, profiled_run

EVIL = '<img src=x onerror="alert(1)">'
SPIKE = Finding("loss_spike", 60, "loss/mse_loss", "9 is far above 1", "TRAIN", "worker_0")
ORIGIN = Finding(
    "non_finite_origin", 50, "gradient/layer0.weight", "3 nan", severity="error", mode="TRAIN"
)


def judged_run(trial, findings, statuses=()):
    """Store what rules said in a run; return its trial."""
    write_findings(trial.store, "worker_0", [finding.to_json() for finding in findings])
    known = [RuleStatus(one.rule, "IssuesFound", 1, 1, one.message) for one in findings]
    write_statuses(trial.store, "worker_0", [asdict(one) for one in (*known, *statuses)])
    return Trial(trial.store)


def notes_run(url, steps):
    """Make a run of two losses, and notes of rules at every step; return its trial."""
    writer = open_writer(RunTarget(open_store(url), "worker_0", Manifest("run", 1, pid=0)))
    names = ("loss/b", "loss/c", "setup/same_key/f", "evaluation/recoded/x")
    for step in range(steps):
        writer.write(make_record(step, dict.fromkeys(names, np.float32(1))))
    writer.close(End("finished", 1, steps))
    return Trial(open_store(url))


def sections(made):
    return {section.key: section for section in made.sections}


def of_kind(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def texts(section):
    return " ".join(block.text for block in of_kind(section, Text))


def ends(steps):
    return int(steps[0]), int(steps[-1])


@pytest.fixture(scope="module")
def faulty():
    """A profiled run of 200 steps with two findings, and a rule that could not judge."""
    trial = profiled_run("memory://faulty", slow={50})
    could_not = RuleStatus("overfit", "NotEvaluated", 0, 0, "no EVAL loss was there")
    return judged_run(trial, [ORIGIN, SPIKE], [could_not])


class TestAround:
    def test_no_axes_are_drawn_for_what_has_no_value(self):
        """A tensor that is not finite at any step: a table says so."""
        spoiled = Finding("non_finite_origin", 2, "loss/mse", "nan", severity="error", mode="TRAIN")
        store = open_store("memory://all-nan")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("run", 1, pid=0)))
        for step in range(3):
            writer.write(make_record(step, {"loss/mse": np.float32(np.nan)}))
        writer.close(End("finished", 1, 3))
        blocks = sections(report(judged_run(Trial(store), [spoiled])))["cause-1"].blocks

        assert [] == [one for one in blocks if isinstance(one, Chart)]
        assert ["loss/mse"] == [one.title for one in blocks if isinstance(one, Table)]


class TestModel:
    def test_layers_are_drawn_at_the_steps_in_question_and_then_over_the_run(self, faulty):
        """What was found at step 50 of 200 is in the middle of its figure."""
        zoomed, whole, *_ = of_kind(sections(report(faulty))["model"], Chart)

        assert (25, 75) == zoomed.data["over"] == ends(zoomed.data["steps"])
        assert (0, 199) == whole.data["over"] == ends(whole.data["steps"])
        assert "gradients, steps 25 to 75" == zoomed.data["what"]
        assert [ORIGIN.step] == [one.step for one in zoomed.data["findings"]]
        assert [24.5, 75.5] == [*zoomed.figure().layout.xaxis.range]

    def test_what_was_not_measured_is_blank(self, tmp_path):
        """Each column says where it begins and ends, the figure at how many steps it was looked."""
        store = open_store("memory://few-steps")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("run", 1, pid=0)))
        for step in range(60):
            looked = {"gradient/a": np.ones(3, np.float32)} if step in (8, 9, 40) else {}
            writer.write(make_record(step, {"loss/mse": np.float32(1), **looked}))
        writer.close(End("finished", 1, 60))
        made = sections(report(judged_run(Trial(store), [SPIKE])))
        drawn = of_kind(made["model"], Chart)
        (figure, *_) = [one.figure() for one in drawn if one.data["over"] == (0, 59)]

        assert [7.5, 8.5, 9.5, 39.5, 40.5] == [*figure.data[0].x]
        assert "measured at 3 steps · blank: not measured" == figure.layout.title.subtitle.text

    @pytest.mark.slow
    def test_a_run_with_nothing_found_is_drawn_whole(self):
        """Once."""
        trial = profiled_run("memory://nothing-found")
        drawn = [one.data["over"] for one in of_kind(sections(report(trial))["model"], Chart)]

        assert [(0, 199)] * len(drawn) == drawn != []


class TestCauses:
    def test_a_cause_is_headed_by_what_it_is_and_since_when(self, tmp_path):
        """As a terminal says it: what goes on is told by where it began."""
        began = replace(ORIGIN, step=60, onset=50, train_onset=50)
        trial = Trial(open_store(make_run(tmp_path / "run", steps=70)))
        cause = sections(report(judged_run(trial, [began])))["cause-1"]

        said = "Cause: first value that is not finite, since step 50, noticed at step 60"
        assert said == cause.title

    def test_what_would_confirm_a_cause_can_be_copied(self, faulty):
        """The words stand before the command, not in it."""
        page = report_page(report(faulty))

        assert "<pre>stepwatch show " in page or "<pre>stepwatch replay " in page
        assert not re.search("<pre>(?!stepwatch )", page)

    def test_the_answer_is_the_first_cause(self, faulty):
        """The worst one, and where; its severity is the colour of the page."""
        made = report(faulty)

        assert "run" == suits(faulty)
        assert "First value that is not finite, step 50" == made.headline
        assert ORIGIN.message == made.lines[0]
        assert "error" == made.tone

    def test_a_cause_is_as_severe_as_what_came_of_it(self, tmp_path):
        """As the headline above it, in its card and where figures mark it."""
        stale = Finding("untrained_parameter", 6, "", "stale", condition="zero_grad", onset=0)
        trial = Trial(open_store(make_run(tmp_path / "run", steps=70)))
        made = report(judged_run(trial, [stale, ORIGIN]))
        (cause,) = of_kind(sections(made)["cause-1"], Cause)
        drawn = of_kind(sections(made)["evidence"], Chart)[0].data["findings"]

        assert ("error", stale.rule) == (made.tone, cause.finding.rule)
        assert "error" == cause.finding.severity
        assert ["error", "error"] == [one.severity for one in drawn]

    def test_each_cause_has_the_steps_around_it(self, faulty):
        """Three before and three after are listed, fifty are drawn."""
        section = sections(report(faulty))["cause-1"]

        (cause,) = of_kind(section, Cause)
        assert ORIGIN.finding_id in cause.findings
        assert [47, 48, 49, 50, 51, 52, 53] == [row[0] for row in of_kind(section, Table)[0].rows]
        drawn = of_kind(section, Chart)[0].numbers["columns"]["l2"]
        assert (0, 100) == (drawn["first"][0], drawn["last"][-1])

    def test_what_goes_on_is_marked_where_it_began(self, tmp_path):
        """As on the page: in every figure, and the steps around it are those around that."""
        began = replace(SPIKE, step=60, mode_step=60, onset=40, train_onset=40)
        trial = Trial(open_store(make_run(tmp_path / "run", steps=200)))
        made = sections(report(judged_run(trial, [began])))
        drawn = [of_kind(made[key], Chart)[0] for key in ("evidence", "cause-1")]

        assert [[40], [40]] == [[one.step for one in chart.data["findings"]] for chart in drawn]
        marks = [one for one in drawn[0].figure().data if one.name == "warning"]
        assert [(40, 40, None)] == [one.x for one in marks]
        assert [*range(37, 44)] == [row[0] for row in of_kind(made["cause-1"], Table)[0].rows]

    def test_what_the_machine_did_then(self, faulty):
        """The time of the step is pointed out, and its readings stand beside those of the run."""
        section = sections(report(faulty))["cause-1"]

        chart = of_kind(section, Chart)[1]
        begins = START_NS + 50 * STEP_NS
        assert (begins, begins + 10 * STEP_NS) == chart.data["span"]
        assert {"CPU", "GPU0", "GPU1", "memory"} <= chart.data["columns"].keys()
        rows = {row[0]: row[1] for row in of_kind(section, Table)[1].rows}
        assert 80 == pytest.approx(rows["GPU0"], abs=6)

    def test_the_loss_stands_for_a_note_of_rules(self, tmp_path):
        """A counter that was noted for them has no figure and no table, nor is its name shown."""
        trial = notes_run(tmp_path / "run", steps=200)
        found = [
            Finding("setup", step, name, "noted", condition=name, mode="TRAIN", mode_step=step)
            for step, name in ((100, "setup/same_key/f"), (101, "evaluation/recoded/x"))
        ]
        made = sections(report(judged_run(trial, found)))
        blocks = [one for key in ("cause-1", "cause-2") for one in made[key].blocks]
        drawn = [one.data for one in blocks if isinstance(one, Chart)]

        assert ["loss/b"] * 2 == [one["title"] for one in drawn]
        assert [[100], [101]] == [[one.step for one in data["findings"]] for data in drawn]
        assert {"loss/b"} == {one.title for one in blocks if isinstance(one, Table)}
        assert "same_key/" not in report_page(report(trial)).partition('<section id="model"')[0]

    def test_of_a_short_run_the_loss_is_not_drawn_twice(self, tmp_path):
        """It is drawn whole above, with what was found."""
        trial = notes_run(tmp_path / "run", steps=40)
        found = Finding("setup", 0, "setup/same_key/f", "noted", condition="same_key", mode="TRAIN")
        made = sections(report(judged_run(trial, [found])))

        assert [] == of_kind(made["cause-1"], Chart) + of_kind(made["cause-1"], Table)
        (whole,) = of_kind(made["evidence"], Chart)
        assert [0] == [one.step for one in whole.data["findings"]]

    def test_the_loss_that_a_cause_names_is_drawn_first(self, tmp_path):
        """And only that one has its mark."""
        trial = notes_run(tmp_path / "run", steps=40)
        found = Finding("loss_spike", 20, "loss/c", "high", "TRAIN", mode_step=20)
        made = sections(report(judged_run(trial, [found])))
        drawn = [*of_kind(made["evidence"], Chart), *of_kind(made["training"], Chart)]

        assert [("loss/c", 1), ("loss/b", 0)] == [
            (one.data["title"], len(one.data["findings"])) for one in drawn
        ]

    def test_more_causes_are_listed(self, tmp_path):
        """Five have a section each, the rest a row."""
        findings = [Finding(f"mine_{step}", step, "", "odd") for step in range(8)]
        trial = judged_run(Trial(make_run(tmp_path / "run", steps=9)), findings)

        found = sections(report(trial))

        assert {f"cause-{number}" for number in range(1, 6)} == {
            key for key in found if key.startswith("cause-")
        }
        assert 3 == len(of_kind(found["more-causes"], Table)[0].rows)

    def test_a_tensor_of_several_workers(self, tmp_path):
        """A row and a line for each."""
        store = open_store(tmp_path / "run")
        manifest = Manifest("two", 1, num_workers=2)
        first = open_writer(RunTarget(store, "worker_0", manifest))
        second = open_writer(RunTarget(store, "worker_1", manifest, is_first=False))
        for writer, worker in ((first, "worker_0"), (second, "worker_1")):
            for step in range(10):
                writer.write(make_record(step, {"loss/mse": np.float32(step)}, worker=worker))
        for writer in (first, second):
            writer.close(End("finished", 2, 10))
        finding = Finding("loss_spike", 5, "loss/mse", "odd", worker="worker_1")

        section = sections(report(judged_run(Trial(store), [finding])))["cause-1"]

        table = of_kind(section, Table)[0]
        assert ("worker", "step", "mode", "value") == table.columns
        assert 14 == len(table.rows)
        assert {"worker_0", "worker_1"} == {*of_kind(section, Chart)[0].data["columns"]}


class TestWhatIsNotKnown:
    def test_rules_that_could_not_judge(self, faulty):
        """With the reason, and in the table of all rules."""
        found = sections(report(faulty))

        rules = {row[0]: row[1:] for row in of_kind(found["rules"], Table)[0].rows}
        assert ("lacked data", 0, "no EVAL loss was there") == rules["overfit"]

    def test_what_was_lost_and_what_failed(self, tmp_path):
        """Coverage, dropped steps, failures and the error of the training."""
        store = open_store(tmp_path / "run")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("lost", 1)))
        writer.write(make_record(0, {"loss/mse": np.float32(1)}))
        end = End("failed", 2, 5, 4, 2, "KeyError: 'x'", "capturing 1 of 2", "4 of 5 steps (slow)")
        writer.close(end)

        said = texts(sections(report(judged_run(Trial(store), [])))["missing"])

        for part in ("capturing 1 of 2", "4 of 5 steps (slow)", "2 failures", "KeyError"):
            assert part in said
        assert "nobody read what the machine did" in said

    def test_a_run_that_died(self, tmp_path):
        """It left no note of its end."""
        store = open_store(tmp_path / "run")
        manifest = Manifest("died", 1, host="elsewhere", pid=1, process="gone")
        writer = open_writer(RunTarget(store, "worker_0", manifest))
        for step in range(3):
            writer.write(make_record(step, {"loss/mse": np.float32(1)}))
        writer.close(End("finished", 2, 3))
        store.delete("end/worker_0.json")
        trial = Trial(store)

        made = report(judged_run(trial, []))

        assert trial.state == made.facts["state"]

    def test_nothing_to_report(self, tmp_path):
        """A run without a step is refused in one line."""
        trial = Trial(make_run(tmp_path / "run", steps=0))

        with pytest.raises(ConfigError, match="holds no step and no profile yet"):
            report(trial)


class TestJudging:
    def test_what_was_stored_counts(self, faulty):
        """Nothing is judged anew."""
        causes = [block for section in report(faulty).sections for block in of_kind(section, Cause)]

        assert [(ORIGIN, (ORIGIN.finding_id, SPIKE.finding_id))] == [
            (cause.finding, cause.findings) for cause in causes
        ]

    def test_other_rules_judge_anew(self, faulty):
        """What is stored is left aside then."""
        made = report(faulty, rules=["exploding_tensor"])

        assert made.headline.startswith("No problem seen in 200 steps, 1 check passed")
        assert "Passed (1): exploding_tensor" in texts(sections(made)["rules"])

    def test_a_run_that_nobody_judged_is_judged_now(self, tmp_path):
        """By the default rules."""
        made = report(Trial(make_run(tmp_path / "run", steps=3)))

        assert len(of_kind(sections(made)["rules"], Table)[0].rows) > 20


class TestDocument:
    def test_it_is_json(self, faulty):
        """Numbers that are not finite are texts; charts hold what they draw."""
        made = report(faulty).to_dict()

        again = json.loads(json.dumps(made, allow_nan=False))
        kinds = {block["type"] for section in again["sections"] for block in section["blocks"]}
        assert {"chart", "table", "text", "cause"} == kinds

    def test_the_same_run_gives_the_same_page(self, faulty):
        """Byte for byte."""
        assert report_page(report(faulty)) == report_page(report(Trial(faulty.store)))

    @pytest.mark.slow
    def test_a_long_run_is_bounded(self, tmp_path):
        """A page of 6,000 steps holds no more numbers than one of 1,500."""
        sizes = [
            len(json.dumps(report(judged_run(Trial(one), [])).to_dict()))
            for one in (_long(tmp_path / "short", 1_500), _long(tmp_path / "long", 6_000))
        ]

        assert sizes[1] < 1.3 * sizes[0]

    def test_names_are_text(self, tmp_path):
        """Of tensors, rules and messages; no element of theirs is on the page."""
        store = open_store(tmp_path / "run")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("evil", 1, (EVIL,))))
        for step in range(3):
            writer.write(make_record(step, {f"loss/{EVIL}": np.float32(step), EVIL: np.ones(3)}))
        writer.close(End("finished", 2, 3, coverage=EVIL))
        finding = Finding(EVIL, 1, f"loss/{EVIL}", EVIL, remedy=EVIL)

        page = report_page(report(judged_run(Trial(store), [finding])))

        assert "<img" not in page.replace("\\u003cimg", "")


def _long(folder, steps):
    store = open_store(folder)
    writer = open_writer(RunTarget(store, "worker_0", Manifest("long", 1)))
    layout = make_record(0, {"loss/mse": np.float32(1)}).layout
    for step in range(steps):
        record = make_record(step, {"loss/mse": np.float32(1 / (step + 1))})
        writer.write(replace(record, layout=layout))
    writer.close(End("finished", 2, steps))
    return store
