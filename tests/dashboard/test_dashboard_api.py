"""What the dashboard tells of a run: the verdict first, and never more than was asked for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.dashboard import api
from stepwatch.dashboard.api import compared_series, divergence
from stepwatch.dashboard.views import level, search
from stepwatch.errors import ConfigError, StepUnavailable, TensorUnavailable
from stepwatch.formats.manifest import End
from stepwatch.testing import make_record, make_run
from tests.support.looked_at import (
    EFFECT,
    EVIL,
    ORIGIN,
    begin,
    judge,
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
        assert ("found", "error") == (told["verdict"], told["severity"])

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
        assert told["headline"] == told["health"]["text"]
        assert [] == trial.plot.findings()

    def test_no_answer_has_more_than_was_asked_for(self, faulty):
        """What is left out is counted."""
        store = faulty.store
        judge(store, [ORIGIN.at(mode="", mode_step=0, worker=""), *_unrelated(30)])
        told = api.overview(faulty, {"points": "5"})

        assert 5 == len(told["chains"])
        assert 26 == told["more"]

    def test_it_can_be_told_as_json(self, faulty):
        """No nan and no infinity is in it."""
        json.dumps(api.overview(faulty, {}), allow_nan=False)


def _unrelated(count):
    from dataclasses import replace

    return [replace(EFFECT, rule="memory_growth", step=step, tensor="") for step in range(count)]


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


class TestFigures:
    @pytest.mark.parametrize(
        "query",
        [
            {"figure": "numbers"},
            {"figure": "heatmap"},
            {"figure": "heatmap", "collection": "outputs", "statistic": "zero_fraction"},
            {"figure": "tensor", "name": "fc.weight"},
            {"figure": "distribution", "name": "fc.weight"},
            {"figure": "value", "name": "fc.weight", "step": "2"},
            {"figure": "images", "name": "conv.weight", "step": "2"},
            {"figure": "system"},
            {"figure": "phases"},
        ],
        ids=lambda query: " ".join(query.values()),
    )
    def test_every_figure_can_be_drawn(self, faulty, query):
        """And told as JSON."""
        profile(faulty.store)
        figure = api.figure(faulty, query)

        assert figure.data
        json.loads(figure.to_json())

    def test_layers_are_those_of_the_run_in_the_order_of_execution(self, faulty):
        """A click finds the tensor of a row, and from step 6 on cells are told as not finite."""
        figure = api.figure(faulty, {"figure": "heatmap", "collection": "outputs"})
        cells, unfit = (trace for trace in figure.data if trace.type == "heatmap")

        assert (("output/fc",), (True,), 1.0) == tuple(
            tuple(value) if isinstance(value, list | tuple) else value
            for value in (figure.layout.meta[name] for name in ("rows", "tensors", "read"))
        )
        assert [False] * 5 + [True] * 7 == [one == 1 for one in unfit.z[0]]
        assert 12 == len(cells.x)

    def test_findings_stand_in_the_figure_of_their_tensor(self, faulty):
        """At their step, with their message as text."""
        figure = api.figure(faulty, {"figure": "tensor", "name": "output/fc"})
        (mark,) = [trace for trace in figure.data if trace.name == "error"]

        assert 6 == mark.x[0]
        assert "&lt;img" in mark.text[0]
        assert "<img" not in mark.text[0]

    def test_what_ran_around_a_step_is_found_by_its_time(self, faulty):
        """The machine's time is that of the tensors; a step that is not there is said so."""
        with pytest.raises(StepUnavailable, match="step 999"):
            api.figure(faulty, {"figure": "timeline", "step": "999"})

    @pytest.mark.parametrize(
        "query",
        [
            {"figure": "pie"},
            {"figure": "tensor", "name": "fc.weight", "statistic": "mode"},
            {"figure": "tensor", "name": "fc.weight", "points": "-1"},
            {"figure": "value", "name": "fc.weight", "step": "two"},
            {"figure": "heatmap", "mode": "SLEEP"},
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, faulty, query):
        """With what would be right."""
        with pytest.raises(ConfigError):
            api.figure(faulty, query)

    def test_a_tensor_that_is_not_there_is_told_with_the_nearest(self, faulty):
        """A misspelled name."""
        with pytest.raises(TensorUnavailable, match=r"fc\.weight"):
            api.figure(faulty, {"figure": "tensor", "name": "fc.wieght"})

    def test_points_bound_a_figure(self):
        """Of 3,000 steps a line has at most as many points as were asked for."""
        trial = Trial(make_run("memory://long-line", steps=3000, tensors=1))
        figure = api.figure(trial, {"figure": "numbers", "points": "100"})

        assert max(len(trace.x) for trace in figure.data) <= 2 * 100 + 2

    def test_of_a_part_of_the_steps_all_are_drawn(self):
        """As when one zooms: 41 of 3,000 fit into 100 points."""
        trial = Trial(make_run("memory://zoomed-line", steps=3000, tensors=1))
        query = {"figure": "numbers", "points": "100", "first": "1000", "last": "1040"}

        (line, *_) = api.figure(trial, query).data
        assert list(range(1000, 1041)) == sorted({int(step) for step in line.x})


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


class TestRules:
    def test_what_found_something_comes_first(self, faulty):
        """Then what could not judge, then what found nothing; each with what it is."""
        told = api.rules(faulty, {})

        assert ["exploding_tensor", "non_finite_origin", "overfit", "router_collapse"] == [
            one["rule"] for one in told["rules"]
        ][:4]
        assert told["rules"][0]["looks_for"]
        assert "loss_spike" in told["not_asked"]


class TestCompare:
    def test_where_two_runs_part_is_told_in_words_and_numbers(self, runs_folder):
        """The first step, the first tensor, and what it was in both."""
        here, there = Trial(runs_folder / "healthy"), Trial(runs_folder / "deep/faulty")
        told = divergence(here, there, {})

        assert not told["same"]
        assert "step 6 (TRAIN 5)" in told["verdict"]
        assert told["differences"]
        assert any(EVIL in line for line in told["not_compared"])

    def test_lines_of_both_stand_in_one_figure(self, runs_folder):
        """By default those of the first loss."""
        here, there = Trial(runs_folder / "healthy"), Trial(runs_folder / "deep/faulty")
        names = [trace.name for trace in compared_series(here, there, {}).data]

        assert {"first TRAIN", "second TRAIN", "first EVAL", "second EVAL"} <= set(names)
