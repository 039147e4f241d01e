"""SimilarAcrossRuns, on real trainings and on runs made to order."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stepwatch.errors import ConfigError, RunNotFound
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.model.steps import Mode
from stepwatch.rules import StepView, Watch, parse_rules
from stepwatch.rules.run_similarity import OtherRun
from stepwatch.store import open_store
from tests.support.rules.classic_programs import seeded
from tests.support.rules.made_steps import full_record
from tests.support.rules.rule_runs import assert_live_is_replay, judge, replay


@pytest.fixture
def store_run(request):
    """A function that writes records of one worker to a run and returns its URL."""

    def write(name, records, worker="worker_0"):
        store = open_store(f"memory://{request.node.name}/{name}")
        writer = open_writer(RunTarget(store, worker, Manifest("other", 0)))
        for record in records:
            writer.write(record)
        writer.close(End("finished", 0, len(records)))
        return store.url

    return write


def one(values, step=0, mode=Mode.TRAIN, **settings):
    return full_record({"weights": {name: np.array(v) for name, v in values.items()}}, step, mode,
                       **settings)  # fmt: skip


def compared(url, records, parameters=""):
    engine = Watch(f"similar_across_runs:other_trials={url}{parameters}")
    found = [finding for record in records for finding in engine.evaluate(StepView([record]))]
    return found + engine.finish(), engine.statuses()[0]


@pytest.mark.parametrize(("seed", "fires"), [(0, False), (1, True)])
def test_the_same_seed_gives_the_same_run_and_another_does_not(seed, fires, tmp_path):
    """Live and in replay; the first difference is in what the first step started from."""
    judge(partial(seeded, 0), [], tmp_path / "first")
    rule = f"similar_across_runs:other_trials={tmp_path / 'first'}"
    findings, statuses = judge(partial(seeded, seed), rule, tmp_path / "second")

    assert (fires, "IssuesFound" if fires else "NoIssuesFound") == (
        bool(findings), statuses[0].status)  # fmt: skip
    assert_live_is_replay(tmp_path / "second", rule, findings, statuses)
    if fires:
        assert '"tensor": "0.weight"' in findings[0]


def test_full_values_tell_by_how_much(tmp_path, store_run):
    """The largest difference, and in steps between neighbouring numbers."""
    here = np.array([1.0, 2.0], np.float32)
    there = np.array([1.0, 2.0 + 2**-10], np.float32)
    url = store_run("first", [one({"w": there})])
    (finding,), _ = compared(url, [one({"w": here})])
    assert (2**-10, True) == (finding.value, "4.1e+03 ulp" in finding.message)


@pytest.mark.parametrize("raw", [True, False])
def test_the_tolerance_is_one_way_to_be_alike(raw, store_run):
    url = store_run("first", [one({"w": [1.0, 2.0]}, raw=raw)])
    assert [] == compared(url, [one({"w": [1.0, 2.0 + 1e-6]}, raw=raw)])[0]
    assert 1 == len(compared(url, [one({"w": [1.0, 2.0 + 1e-3]}, raw=raw)])[0])


def test_another_shape_is_a_difference_and_another_name_only_if_asked_for(store_run):
    url = store_run("first", [one({"w": np.ones((2, 3)), "v": [1.0]})])
    (finding,), _ = compared(url, [one({"w": np.ones((3, 2)), "u": [1.0]})])
    assert "shape (3, 2) here and (2, 3) there" in finding.message
    same = {"w": np.ones((2, 3)), "u": [1.0]}
    assert [] == compared(url, [one(same)])[0]
    (finding,), _ = compared(url, [one(same)], ",strict_names=true")
    assert ["u", "v"] == finding.evidence["tensors"]


def test_steps_are_matched_as_their_mode_counts_them(store_run):
    """The other run evaluated once more, and saved fewer steps."""
    there = [
        one({"w": [0.0]}, 0, Mode.EVAL, mode_step=0),
        one({"w": [1.0]}, 1, Mode.TRAIN, mode_step=0),
        one({"w": [5.0]}, 2, Mode.EVAL, mode_step=1),
        one({"w": [3.0]}, 9, Mode.TRAIN, mode_step=2),
    ]
    here = [
        one({"w": [1.0]}, 0, mode_step=0),
        one({"w": [2.0]}, 1, mode_step=1),
        one({"w": [3.0]}, 2, mode_step=2),
        one({"w": [0.0]}, 3, Mode.EVAL, mode_step=0),
    ]
    found, status = compared(store_run("first", there), here)
    assert ([], "NoIssuesFound") == (found, status.status)


def test_a_run_that_shares_no_step_is_not_green(store_run):
    _, status = compared(store_run("first", [one({"w": [1.0]}, 7)]), [one({"w": [1.0]}, 3)])
    assert ("NotEvaluated", True) == (status.status, "no tensor of a step" in status.details)


def test_nan_is_like_nan(store_run):
    url = store_run("first", [one({"w": [1.0, np.nan]})])
    assert [] == compared(url, [one({"w": [1.0, np.nan]})])[0]
    assert 1 == len(compared(url, [one({"w": [np.nan, 1.0]})])[0])


def test_what_cannot_be_compared_with_is_said_before_training():
    with pytest.raises(ConfigError, match="other_trials"):
        parse_rules("similar_across_runs")
    with pytest.raises(RunNotFound, match="no run at"):
        parse_rules("similar_across_runs:other_trials=memory://nothing-there")


def test_steps_of_other_modes_are_kept_until_they_are_asked_for(store_run):
    records = [one({"w": [float(n)]}, n, Mode.EVAL if n % 2 else Mode.TRAIN, mode_step=n // 2)
               for n in range(8)]  # fmt: skip
    other = OtherRun(store_run("first", records))
    found = [other.at("worker_0", Mode.TRAIN, n).step for n in range(4)]
    found += [other.at("worker_0", Mode.EVAL, n).step for n in range(4)]
    assert [0, 2, 4, 6, 1, 3, 5, 7] == found
    assert other.at("worker_0", Mode.EVAL, 4) is None


def test_replay_needs_the_other_run_too(tmp_path):
    """A rule is judged by the same steps of both runs, whenever."""
    judge(partial(seeded, 0), [], tmp_path / "first")
    rule = f"similar_across_runs:other_trials={tmp_path / 'first'}"
    assert ([], "NoIssuesFound") == (
        replay(tmp_path / "first", rule, follow=False)[0],
        replay(tmp_path / "first", rule, follow=False)[1][0].status,
    )
