"""What the dashboard tells of a run: the verdict first, and never more than was asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.dashboard import api
from stepwatch.dashboard.api import divergence
from stepwatch.dashboard.columns import columns_of
from stepwatch.dashboard.machine import sentence, slowest
from stepwatch.dashboard.views import level, search
from stepwatch.errors import ConfigError, StepUnavailable, TensorUnavailable
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.findings import ActionNote, write_actions
from stepwatch.formats.manifest import End, Manifest
from stepwatch.judge.root_cause import chains
from stepwatch.model.finding import Finding
from stepwatch.model.record import Layout
from stepwatch.model.steps import Mode
from stepwatch.profile.analysis import StepSummary
from stepwatch.report.run import report
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run
from tests.support.looked_at import (
    EFFECT,
    EVIL,
    ORIGIN,
    START_NS,
    begin,
    judge,
    make_arrays,
    make_looked_at,
    profile,
)


@pytest.fixture
def faulty(tmp_path):
    store = make_looked_at(tmp_path / "faulty", broken_from=5)
    judge(store)
    return Trial(store)


class TestOverview:
    def test_the_first_cause_comes_before_what_followed(self, faulty):
        """One chain: the origin on top, the exploding tensor beneath it."""
        told = api.overview(faulty, {})

        (chain,) = told["chains"]
        assert ORIGIN.finding_id == chain["cause"]["finding_id"]
        assert [EFFECT.finding_id] == [one["finding_id"] for one in chain["consequences"]]
        assert ("found", "error") == (told["verdict"], told["health"]["tone"])

    def test_what_was_not_judged_is_never_green(self, tmp_path):
        """A run that no rule has judged, and that goes on, is not healthy."""
        writer = begin(tmp_path / "running")
        writer.write(make_record(0, {"loss/mse": np.float32(1.0)}))
        writer.flush()
        told = api.overview(Trial(tmp_path / "running"), {})
        writer.close(End("finished", 1, 1))

        assert ("running", "not judged") == (told["state"], told["verdict"])

    def test_a_small_run_that_nobody_judged_is_judged_now(self, runs_folder):
        """As one of smdebug's; its findings are then marked in figures."""
        trial = Trial(runs_folder / "smdebug")
        told = api.overview(trial, {})

        assert "no problem seen" == told["verdict"]
        assert told["health"]["text"] == f"{told['headline']}, {told['health']['rest']}"
        assert [] == columns_of(trial).findings()

    def test_no_answer_has_more_than_was_asked_for(self, faulty):
        """What is left out is counted."""
        store = faulty.store
        judge(store, [ORIGIN.at(mode="", mode_step=0, worker=""), *_unrelated(30)])
        told = api.overview(faulty, {"points": "5"})

        assert 5 == len(told["chains"])
        assert 26 == told["more"]

    def test_what_is_found_again_is_one_block(self, faulty):
        """Which says how often, and names no note of ours: what it is about, and what shows it."""
        note = replace(EFFECT, rule="setup", tensor="setup/uncalled/fc", condition="uncalled")
        judge(faulty.store, [replace(note, step=step) for step in (3, 9)])
        (told,) = api.overview(faulty, {})["chains"]

        assert "2 times, steps 3 to 9" == told["again"]
        assert ("layer fc", "output/fc") == (told["cause"]["about"], told["cause"]["shown"])
        assert "setup/" not in told["confirm"]

    def test_it_can_be_told_as_json(self, faulty):
        """No nan and no infinity is in it."""
        json.dumps(api.overview(faulty, {}), allow_nan=False)


def _unrelated(count):
    one = replace(EFFECT, rule="memory_growth", tensor="")
    return [replace(one, step=step, condition=f"number {step}") for step in range(count)]


class TestTree:
    def test_a_level_is_cut_at_the_next_separator(self):
        """What several begin with is one entry; what only one begins with is that one."""
        names = ["a.b.c", "a.b.d", "e/f.g", "h"]
        entries = level(names, "", points=10)["entries"]

        assert ["a.", "e/f.g", "h"] == [one["label"] for one in entries]
        assert [False, True, True] == [one["leaf"] for one in entries]
        assert ["b."] == [one["label"] for one in level(names, "a.", points=10)["entries"]]

    def test_a_name_may_begin_as_another_ends(self):
        """``a`` is a tensor, and ``a.b`` as well."""
        entries = level(["a", "a.b", "a.c"], "", points=10)["entries"]

        assert [("a", 1), ("a.", 2)] == [(one["label"], one["count"]) for one in entries]

    def test_every_word_must_be_found(self):
        """In any order, upper or lower case."""
        names = [f"blocks.{number}.fc1.weight" for number in range(20_000)]
        found = search(names, "WEIGHT 1999.", points=5)

        assert "blocks.1999.fc1.weight" == found["entries"][0]["path"]
        assert (2, 0) == (len(found["entries"]), found["more"])
        assert 19_995 == search(names, "fc1", points=5)["more"]


_OPENS = """\
import sys
from stepwatch import Trial
from stepwatch.dashboard.app import _ANSWERS
from stepwatch.dashboard.runs import Listing, OpenRuns

assert 1 == len(Listing(OpenRuns(sys.argv[1])).rows()["runs"])
trial, asked = Trial(sys.argv[1]), ["run", "scalars", "matrix"]
for what in asked:
    assert _ANSWERS[what](trial, {})
print(asked, "pandas" in sys.modules)
"""


class TestColumns:
    @pytest.mark.parametrize(
        ("what", "query"),
        [
            ("scalars", {}),
            ("scalars", {"axis": "time"}),
            ("scalars", {"axis": "global"}),
            ("matrix", {}),
            ("matrix", {"collection": "outputs", "statistic": "zero_fraction"}),
            ("series", {"name": "fc.weight"}),
            ("layers", {}),
            ("spread", {"name": "fc.weight"}),
            ("value", {"name": "fc.weight", "step": "2"}),
            ("value", {"name": "conv.weight", "step": "2", "images": "9"}),
            ("machine", {}),
            ("last_words", {}),
        ],
        ids=str,
    )
    def test_every_answer_can_be_told(self, faulty, what, query):
        """As JSON without nan and infinity, which a browser would not take."""
        profile(faulty.store)
        told = getattr(api, what)(faulty, query)

        assert told
        json.dumps(told, allow_nan=False)

    def test_an_evaluation_is_one_point_with_its_range(self, tmp_path):
        """It lies where training had come to, and each step weighs as many samples as it had."""
        writer = begin(tmp_path / "run")
        for step in range(4):
            arrays = {"loss/mse": np.float32(1), "batch/0": np.zeros((8, 2), np.float32)}
            writer.write(as_batches(make_record(step, arrays)))
        for at, (loss, samples) in enumerate(((1.0, 30), (4.0, 10))):
            arrays = {"loss/mse": np.float32(loss), "batch/0": np.zeros((samples, 2), np.float32)}
            writer.write(as_batches(make_record(4 + at, arrays, mode=Mode.EVAL, mode_step=at)))
        writer.close(End("finished", 1, 6))
        told = api.scalars(Trial(tmp_path / "run"), {})
        (evaluated,) = [line for line in told["lines"] if line["mode"] == "EVAL"]

        assert ([4], [1.75], [1], [4]) == tuple(evaluated[one] for one in ("x", "y", "low", "high"))
        assert 4 == told["last_step"]  # the figure goes as far

    def test_two_evaluations_at_one_step_are_two_lines(self, tmp_path):
        """Of the same length, and with none before them: where each began was seen."""
        writer = begin(tmp_path / "run")
        writer.write(make_record(0, {"loss/mse": np.float32(9)}))
        losses = ((1.0, 1), (3.0, None), (5.0, 2), (9.0, None))
        for step, (loss, number) in enumerate(losses, start=1):
            arrays = {"loss/mse": np.float32(loss)}
            if number is not None:
                arrays["evaluation/number"] = np.int64(number)
            writer.write(make_record(step, arrays, mode=Mode.EVAL, mode_step=step - 1))
        writer.close(End("finished", 1, 5))
        told = api.scalars(Trial(tmp_path / "run"), {})
        found = {line["mode"]: line for line in told["lines"] if line["name"] == "loss/mse"}

        assert ["TRAIN", "EVAL", "EVAL 2"] == [*found]
        for mode, (mean, low, high) in {"EVAL": (2, 1, 3), "EVAL 2": (7, 5, 9)}.items():
            line = found[mode]
            point = ([1], [mean], [low], [high])
            assert point == (line["x"], line["y"], line["low"], line["high"])

    def test_an_evaluation_after_the_validation_is_a_line_of_its_own(self, tmp_path):
        """Of a metric, which says what came of the pass so far, the last value counts."""
        writer = begin(tmp_path / "run")
        step = 0
        for epoch, passes in enumerate(((1.0, 3.0), (1.0, 3.0), (1.0, 3.0, 7.0, 9.0))):
            writer.write(make_record(step, {"loss/mse": np.float32(1)}, mode_step=epoch))
            for at, loss in enumerate(passes, start=step + 1):
                arrays = {"loss/mse": np.float32(loss), "metric/loss": np.float32(10 * loss)}
                writer.write(as_batches(make_record(at, arrays, mode=Mode.EVAL)))
            step += 1 + len(passes)
        writer.close(End("finished", 1, step))
        told = api.scalars(Trial(tmp_path / "run"), {})
        lines = {(line["name"], line["mode"]): line for line in told["lines"]}
        loss, after = (lines["loss/mse", mode] for mode in ("EVAL", "EVAL 2"))

        assert ([1, 2, 3], [2, 2, 2], 2) == (loss["x"], loss["y"], loss["last"])
        assert ([3], [8], 8) == (after["x"], after["y"], after["last"])
        assert [30, 30, 30] == lines["metric/loss", "EVAL"]["y"]
        assert [90] == lines["metric/loss", "EVAL 2"]["y"]
        assert 3 == told["last_step"]

    def test_the_last_value_is_that_of_the_last_step(self, tmp_path):
        """Not the mean of the steps that the last point holds."""
        trial = Trial(make_run(tmp_path / "run", steps=300, tensors=1))
        line, *_ = api.scalars(trial, {"points": "10"})["lines"]
        series = trial.tensor(line["name"]).statistics()

        assert pytest.approx(series["mean"][-1], rel=1e-3) == line["last"]
        assert line["y"][-1] > 1.01 * line["last"]

    def test_the_gradient_norm_is_read_with_the_heat_map_of_gradients(self, tmp_path, monkeypatch):
        """Which lies beneath it on the page: of a large run that is most of what is read."""
        trial = Trial(make_run(tmp_path / "run", steps=30, tensors=4))
        lines = api.scalars(trial, {"points": "600"})["lines"]
        assert "gradient norm" in {line["name"] for line in lines}
        monkeypatch.setattr(trial.reader, "observations", None)  # nothing is read any more

        assert 1 == api.matrix(trial, {"collection": "gradients", "statistic": "l2"})["read"]

    @pytest.mark.slow
    def test_what_a_page_opens_with_is_read_without_pandas(self, tmp_path):
        """Whose import takes longer than all the rest; a row of the table of runs is, too."""
        pytest.importorskip("pandas")
        make_run(tmp_path / "run", steps=30, tensors=4)
        done = subprocess.run(
            [sys.executable, "-c", _OPENS, str(tmp_path / "run")],
            capture_output=True,
            text=True,
            check=True,
        )

        assert "['run', 'scalars', 'matrix'] False\n" == done.stdout

    def test_a_last_value_that_is_old_has_its_step(self, tmp_path):
        """As a gradient of which one step in ten is measured; a loss of the last step has none."""
        writer = begin(tmp_path / "run")
        for step in range(15):
            arrays = make_arrays(step)
            kept = {name for name in arrays if step <= 10 or not name.startswith("gradient/")}
            writer.write(make_record(step, {name: arrays[name] for name in kept}))
        writer.close(End("finished", 1, 15))
        trial = Trial(tmp_path / "run")
        lines = {line["name"]: line["at"] for line in api.scalars(trial, {})["lines"]}
        gradients = api.layers(trial, {})["layers"]["gradients"]

        assert (10, None) == (lines["gradient norm"], lines["seconds per step"])
        assert {None} == {at for name, at in lines.items() if name.startswith("loss/")}
        assert {10} == {one["at"] for one in gradients}

    def test_a_step_counts_as_often_as_the_optimizer_steps(self, tmp_path):
        """With gradients of two batches in each update, six batches are three steps."""
        writer = begin(tmp_path / "run")
        for step in range(6):
            taken = {"loss/mse": np.float32(step), "loop/optimizer_steps": np.float64(step // 2)}
            writer.write(make_record(step, taken))
        writer.close(End("finished", 1, 6))
        told = api.scalars(Trial(tmp_path / "run"), {})
        (loss,) = [line for line in told["lines"] if line["name"] == "loss/mse"]

        assert ([0, 0, 1, 1, 2, 2][-1], 2) == (told["last_step"], told["accumulated"])
        assert [0, 1, 2] == loss["x"]
        assert [0.5, 2.5, 4.5] == loss["y"]

    def test_epochs_are_an_axis_where_they_are_known(self, tmp_path):
        """Between the steps of which they are, lies a straight line; else it is that of steps."""
        writer = begin(tmp_path / "run")
        for step in range(6):
            arrays = {"loss/mse": np.float32(1)}
            if step in (0, 4):
                arrays["loop/epoch"] = np.float64(step / 4)
            writer.write(make_record(step, arrays))
        writer.close(End("finished", 1, 6))
        make_run(tmp_path / "other", steps=3)
        known, unknown = (
            api.scalars(Trial(tmp_path / name), {"axis": "epoch"}) for name in ("run", "other")
        )

        assert ("epoch", {"step": [0, 4], "global": [0, 4], "epoch": [0, 1]}) == (
            known["axis"],
            known["knots"],
        )
        assert "epoch" in known["axes"]
        assert ("step", ["step", "time"]) == (unknown["axis"], unknown["axes"])

    def test_a_boosting_round_is_trained_and_evaluated_at_one_place(self, tmp_path):
        """Its evaluation lies at its own number, not where the next round begins."""
        writer = begin(tmp_path / "run")
        for step in range(6):
            mode = Mode.EVAL if step % 2 else Mode.TRAIN
            loss = {f"{mode.value.lower()}-rmse": np.float32(step)}
            arrays = {**loss, "boosting/unsplit_rounds": np.int64(0)}
            record = make_record(step, arrays, mode=mode, mode_step=step // 2)
            number, known = record.layout.tensors
            layout = Layout((number, replace(known, collection="boosting")))
            writer.write(replace(record, layout=layout))
        writer.close(End("finished", 1, 6))
        trial = Trial(tmp_path / "run")

        told = api.scalars(trial, {})
        line = api.series(trial, {"name": "eval-rmse"})["lines"][0]
        assert (True, [0, 1, 2]) == (told["rounds"], line["x"])

    def test_whole_epochs_of_a_trainer_begin_where_they_grow(self, tmp_path):
        """As it says of each step only in which it is."""
        writer = begin(tmp_path / "run")
        for step in range(9):
            arrays = {"loss/mse": np.float32(1), "metric/epoch": np.float64(step // 3)}
            writer.write(make_record(step, arrays))
        writer.close(End("finished", 1, 9))

        knots = api.scalars(Trial(tmp_path / "run"), {"axis": "epoch"})["knots"]
        assert ([0, 3, 6], [0, 1, 2]) == (knots["step"], knots["epoch"])

    def test_only_what_came_since_is_sent(self, tmp_path):
        """To who has columns as wide or, of other lines, wider; all to who has narrower ones."""
        writer = begin(tmp_path / "run")
        for step in range(10):
            writer.write(make_record(step, make_arrays(step)))
        writer.flush()
        trial = Trial(tmp_path / "run")
        api.scalars(trial, {})
        for step in range(10, 12):
            writer.write(make_record(step, make_arrays(step)))
        writer.flush()
        trial.refresh()
        new = api.scalars(trial, {"since": "9", "width": "1"})["lines"][0]
        cells = api.matrix(trial, {"since": "9", "width": "1"})
        beside = api.scalars(trial, {"since": "8", "width": "4"})["lines"][0]
        narrower = {"since": "9", "width": "1", "points": "10"}
        others = api.scalars(trial, narrower)["lines"][0]
        writer.close(End("finished", 1, 12))

        assert ([9, 10, 11], False) == (new["x"], new["whole"])
        assert ([9, 10, 11], 3) == (cells["first"], len(cells["cells"][0]))
        assert ([8, 9, 10, 11], False) == (beside["x"], beside["whole"])
        assert (2, 6, True) == (others["width"], len(others["x"]), others["whole"])

    def test_what_is_not_finite_is_told_apart_from_what_was_not_observed(self, faulty):
        """Both have no value; columns of the first are named."""
        told = api.matrix(faulty, {"collection": "outputs"})

        assert (["output/fc"], [True], 1.0) == (told["rows"], told["tensors"], told["read"])
        assert 12 == told["measured"]
        assert [list(range(5, 12))] == told["unfit"]
        assert 12 == len(told["first"])
        assert 11 == told["last_step"]

    def test_findings_lie_on_the_axis_of_the_figures(self, faulty):
        """Step 6 over all modes is the sixth optimizer step: three of four before were TRAIN."""
        (mark,) = api.series(faulty, {"name": "output/fc"})["marks"]

        assert (6, 5, "outputs") == (mark["step"], mark["x"], mark["view"])
        assert EVIL in mark["message"]

    def test_a_finding_is_marked_where_it_began(self, faulty):
        """And not where it was noticed; the mark says since when, as the headline does."""
        finding = Finding(
            "chance_level", 6, "loss/mse", "", mode="TRAIN", mode_step=5, onset=2, train_onset=2
        )
        columns_of(faulty).mark(chains([finding]))
        (mark,) = columns_of(faulty).marks()

        assert (2, "since step 2", "no better than guessing") == (
            mark["x"],
            mark["since"],
            mark["title"],
        )

    def test_a_cause_is_marked_before_what_followed_at_the_same_step(self, faulty):
        """Of two marks at one place the first is numbered first."""
        found = [
            Finding(rule, 6, "output/fc", "not finite", severity="error", condition="non_finite")
            for rule in ("exploding_tensor", "non_finite_origin")
        ]

        columns_of(faulty).mark(chains(found))
        marks = columns_of(faulty).marks()
        assert ["non_finite_origin", "exploding_tensor"] == [mark["rule"] for mark in marks]

    def test_marks_are_in_the_order_in_which_causes_are_listed(self, faulty):
        """Though one that is listed later began before; and a cause is as severe as its chain."""
        stale = Finding("untrained_parameter", 6, "", "stale", condition="zero_grad", onset=0)
        exploded = replace(EFFECT, step=9)
        other = Finding("setup", 0, "evaluation/recoded/x", "other numbers", condition="recoded")
        judge(faulty.store, [other, exploded, stale])
        told = api.overview(Trial(faulty.store), {})
        marks = columns_of(Trial(faulty.store)).marks()

        listed = [chain["cause"]["rule"] for chain in told["chains"]]
        assert ["untrained_parameter", "setup"] == listed
        assert [*listed, "exploding_tensor"] == [mark["rule"] for mark in marks]
        assert ["error", "warning", "error"] == [mark["severity"] for mark in marks]
        assert [1, 2, 3] == [mark["number"] for mark in marks]

    def test_a_heat_map_holds_one_quantity(self, tmp_path):
        """Shares of updates that are lost are no update ratios; alone they are drawn."""
        writer = begin(tmp_path / "run")
        names = ("loss/mse", "update_ratio/w", "lost_updates/w", "lost_updates/v")
        for step in range(4):
            record = make_record(step, dict.fromkeys(names, np.float32(0.5)))
            loss, *others = record.layout.tensors
            layout = Layout((loss, *(replace(one, collection="updates") for one in others)))
            writer.write(replace(record, layout=layout))
        writer.close(End("finished", 1, 4))
        trial = Trial(tmp_path / "run")
        query = {"collection": "updates", "statistic": "mean"}

        assert ["update_ratio/w"] == api.matrix(trial, query)["rows"]
        lost = api.matrix(trial, {**query, "under": "lost_updates/"})["rows"]
        assert ["lost_updates/v", "lost_updates/w"] == sorted(lost)
        assert ["update_ratio/w"] == trial.plot.heatmap("updates", "mean").layout.meta["rows"]
        made = {section.key: section for section in report(trial).sections}
        (drawn, *_) = [one for one in made["model"].blocks if one.data.get("what") == "updates"]
        assert ["update_ratio/w"] == drawn.data["names"]

    def test_what_ran_around_a_step_is_found_by_its_time(self, faulty):
        """The machine's time is that of the tensors; a step that is not there is said so."""
        with pytest.raises(StepUnavailable, match="step 999"):
            api.machine(faulty, {"step": "999"})

    @pytest.mark.parametrize(
        ("what", "query"),
        [
            ("series", {"name": "fc.weight", "statistic": "mode"}),
            ("series", {"name": "fc.weight", "points": "-1"}),
            ("value", {"name": "fc.weight", "step": "two"}),
            ("scalars", {"axis": "mood"}),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, faulty, what, query):
        """With what would be right."""
        with pytest.raises(ConfigError):
            getattr(api, what)(faulty, query)

    def test_a_tensor_that_is_not_there_is_told_with_the_nearest(self, faulty):
        """A misspelled name."""
        with pytest.raises(TensorUnavailable, match=r"fc\.weight"):
            api.series(faulty, {"name": "fc.wieght"})

    def test_points_bound_a_line(self):
        """Of 3,000 steps it has at most as many points as were asked for."""
        trial = Trial(make_run("memory://long-line", steps=3000, tensors=1))
        told = api.scalars(trial, {"points": "100"})

        assert max(len(line["x"]) for line in told["lines"]) <= 100

    def test_of_a_part_of_the_steps_all_are_sent(self):
        """As when one zooms: 41 of 3,000 fit into 100 points."""
        trial = Trial(make_run("memory://zoomed-line", steps=3000, tensors=1))
        query = {"points": "100", "first": "1000", "last": "1040"}

        line, *_ = api.scalars(trial, query)["lines"]
        assert list(range(1000, 1041)) == line["x"]

    def test_the_figure_of_a_finding_shows_it(self, faulty):
        """Of what is not finite the tensors that it is in, where these cells are red."""
        view = api.overview(faulty, {})["view"]

        assert ("outputs", "l2", "") == (view["collection"], view["statistic"], view["lines"])

    @pytest.mark.parametrize(
        ("onset", "step", "shown"),
        [(None, 1000, [975, 1025]), (940, 1000, [880, 1060]), (None, 1990, [1965, 1999])],
        ids=["at once", "for a while", "at the end"],
    )
    def test_the_figure_of_a_finding_opens_where_it_was(self, onset, step, shown):
        """From when it began to when it was noticed, with some steps before and after."""
        url = f"memory://opened-at-{onset}-{step}"
        make_run(url, steps=2000, tensors=1)
        found = replace(ORIGIN, step=step, mode_step=step, onset=onset, tensor="gradient/layer0")
        judge(open_store(url), [found])

        assert shown == api.overview(Trial(url), {})["view"]["steps"]

    def test_the_figure_of_a_short_run_shows_all_of_it(self, faulty):
        """As there is nothing to look for."""
        assert api.overview(faulty, {})["view"]["steps"] is None

    def test_of_a_part_of_the_steps_each_has_a_column(self):
        """Of 3,000 steps a column holds several, of 41 one."""
        trial = Trial(make_run("memory://zoomed-layers", steps=3000, tensors=1))
        whole = api.matrix(trial, {"points": "100"})
        part = api.matrix(trial, {"points": "100", "first": "1000", "last": "1040"})
        scalars = api.scalars(trial, {"points": "100", "first": "1000", "last": "1040"})
        (norm,) = (one for one in scalars["lines"] if one["name"] == "gradient norm")

        assert len(whole["first"]) <= 100
        assert list(range(1000, 1041)) == part["first"] == norm["x"]
        assert (whole["last_step"], 41) == (part["last_step"], part["measured"])

    def test_what_was_found_first_is_on_top(self, faulty):
        """Its row is named, in whatever heat map has it."""
        told = api.matrix(faulty, {"collection": "outputs"})

        assert ["output/fc"] == [told["rows"][row] for row in told["above"]]

    def test_weights_without_updates_are_rows_of_their_own(self, tmp_path):
        """Blank, so that the page hatches them: no optimizer holds them."""
        found = Finding(
            "untrained_parameter",
            3,
            "conv.weight",
            "in no optimizer",
            condition="not_in_optimizer",
            evidence={"parameters": ["conv.weight"]},
        )
        judge(make_looked_at(tmp_path / "run"), [found])
        told = api.matrix(Trial(tmp_path / "run"), {"collection": "gradients"})

        row = told["rows"].index("conv.weight")
        assert [row] == told["above"]
        assert {None} == set(told["cells"][row])

    def test_seconds_per_step_count_steps_that_were_not_looked_at(self, tmp_path):
        """Ten steps of a second each; an evaluation of a minute is in none of them."""
        store = open_store(tmp_path / "run")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("run", 7, ("train.py",))))
        for step in range(0, 11, 5):
            record = make_record(step, {"loss/mse": np.float32(1)})
            writer.write(replace(record, time_ns=step * 1_000_000_000))
        evaluated = make_record(11, {"loss/mse": np.float32(1)}, mode=Mode.EVAL, mode_step=0)
        writer.write(replace(evaluated, time_ns=70_000_000_000))
        trained = make_record(12, {"loss/mse": np.float32(1)}, mode_step=11)
        writer.write(replace(trained, time_ns=71_000_000_000))
        writer.close(End("finished", 9, 4))
        lines = api.scalars(Trial(tmp_path / "run"), {})["lines"]

        (speed,) = (one for one in lines if one["name"] == "seconds per step")
        assert ([5, 10], [1, 1]) == (speed["x"], speed["y"])


def as_batches(record):
    """Return a step whose batches and metrics are of these collections."""
    kinds = {"batch": "batches", "metric": "metrics"}
    tensors = [
        replace(one, collection=kinds.get(one.name.partition("/")[0], one.collection))
        for one in record.layout.tensors
    ]
    return replace(record, layout=Layout(tuple(tensors)))


class TestFacts:
    def test_steps_of_which_nothing_was_observed_are_counted(self, tmp_path):
        """And at which ones all was measured, as figures are blank at the others."""
        writer = begin(tmp_path / "run")
        for step in range(4):
            writer.write(make_record(step, {"loss/mse": np.float32(1.0)}))
        covered = "capturing 1 of 1 parameters; full statistics at 1 step in 50 from step 11 on"
        covered += ", losses at every step"
        writer.close(End("finished", 1, 4, coverage=covered, counted={"TRAIN": 7}))
        told = api.overview(Trial(tmp_path / "run"), {})

        assert "4 of 7 TRAIN observed" == told["steps_by_mode"]
        assert "full statistics at 1 step in 50 from step 11 on" == told["sampling"]


class TestMachine:
    def test_one_sentence_says_where_the_time_goes(self):
        """Of what takes most."""
        shares = {"data": 0.6, "forward": 0.3, "backward": 0.1}
        steps = StepSummary("worker_0", "TRAIN", 9, 100.0, 100.0, 120.0, 130.0, shares)

        assert "60 % of step time waits for data (60 ms of 100 ms)" == sentence([steps])

    def test_what_a_step_takes_is_not_told_of_the_few_that_were_observed_in_full(self, tmp_path):
        """These take a tenth of a second, and all others a hundredth, as their losses say."""
        writer = begin(tmp_path / "run")
        for step in range(100):
            record = make_record(step, {"loss/mse": np.float32(1.0)})
            writer.write(replace(record, time_ns=START_NS + step * 10**7))
        writer.close(End("finished", 1, 100))
        profile(open_store(tmp_path / "run"), steps=10)
        told = api.machine(Trial(tmp_path / "run"), {})

        assert "A step takes 10 ms (median of 99)" == told["sentence"]
        assert told["timed"].startswith("10 of 100 steps were observed in full")
        assert told["timed"].endswith("(20 ms of 100 ms)")
        assert 99 == told["last_step"]

    def test_where_all_steps_were_timed_they_speak_for_themselves(self, tmp_path):
        """The sentence is on where their time goes."""
        make_looked_at(tmp_path / "run")
        profile(open_store(tmp_path / "run"), steps=12)
        told = api.machine(Trial(tmp_path / "run"), {})

        assert told["sentence"].startswith("20 % of step time")
        assert "" == told["timed"]

    def test_the_slowest_worker_is_the_one_whose_own_work_is(self):
        """All steps take as long, as in the backward pass the others wait."""
        own = {"worker_0": 0.2, "worker_1": 0.9, "worker_2": 0.2}
        steps = [
            StepSummary(who, "TRAIN", 9, 100.0, 1, 1, 1, {"forward": part, "backward": 1 - part})
            for who, part in own.items()
        ]

        assert slowest(steps).startswith("worker_1 holds the others up: its own work takes 90 ms")
        assert "" == slowest(steps[:1])
        assert "" == slowest([steps[0], steps[2]])


class TestTensor:
    def test_it_says_which_values_were_saved(self, faulty):
        """Their steps, dtype and shape."""
        told = api.tensor(faulty, {"name": "conv.weight"})

        assert [4, 2, 3, 3] == told["shape"]
        assert "float32" == told["dtype"]
        assert [0, 1, 2, 4, 5] == told["values_at"][:5]
        assert told["images"]

    def test_few_of_many_steps_are_named(self, faulty):
        """The first ones of as many buckets."""
        told = api.tensor(faulty, {"name": "conv.weight", "points": "3"})

        assert (3, 12) == (len(told["values_at"]), told["num_values"])


class TestLast:
    def test_an_action_is_about_what_was_found_at_its_training_step(self, faulty):
        """In the words and the count that the overview has; one of an unknown finding as it is."""
        judge(faulty.store, [replace(ORIGIN, mode="TRAIN", mode_step=4)])
        (found,) = columns_of(faulty).findings()
        note = ActionNote(1, found.finding_id, found.rule, found.step, "warn", "", "done", "", "")
        write_actions(faulty.store, "worker_0", [note, replace(note, time_ns=2, finding_id="x")])
        told = api.last_words(faulty, {})["actions"]

        assert [("first value that is not finite", 4), ("non finite origin", found.step)] == [
            (one["title"], one["train_step"]) for one in told
        ]


class TestRules:
    def test_what_found_something_comes_first(self, faulty):
        """The cause before what followed, then what passed, lacked data, and does not apply."""
        told = api.rules(faulty, {})

        order = ["found", "failed", "passed", "lacked data", "does not apply"]
        places = [order.index(one["outcome"]) for one in told["rules"]]
        assert places == sorted(places)
        found = [(one["rule"], one["title"]) for one in told["rules"][:2]]
        assert [
            ("non_finite_origin", "first value that is not finite"),
            ("exploding_tensor", "values are NaN or infinite"),
        ] == found
        assert told["rules"][0]["looks_for"]
        assert "loss_spike" in told["not_asked"]


class TestCompare:
    def test_programs_without_common_weights_do_not_part(self, faulty, tmp_path):
        """They are two programs, and no number of one is that of the other."""
        writer = begin(tmp_path / "other")
        for step in range(8):
            arrays = {"loss/mse": np.float32(step), "head.weight": np.ones(3, np.float32)}
            writer.write(make_record(step, arrays))
        writer.close(End("finished", 1, 8))
        told = divergence(faulty, Trial(tmp_path / "other"), {})

        assert told["verdict"].startswith("two different programs")
        assert ([], [], True) == (told["differences"], told["details"], told["unrelated"])

    def test_where_two_runs_part_is_told_in_words_and_numbers(self, runs_folder):
        """The first step, the first tensor, and what it was in both."""
        here, there = Trial(runs_folder / "healthy"), Trial(runs_folder / "deep/faulty")
        told = divergence(here, there, {})

        assert not told["same"]
        assert "TRAIN step 5" in told["verdict"]
        assert told["differences"]
        assert any(EVIL in line for line in told["not_compared"])
