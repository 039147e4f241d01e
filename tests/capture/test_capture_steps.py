"""The plan, the open step and the guard."""

from __future__ import annotations

import logging

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.capture.guard import guarded
from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.plan import NOTHING, RAW, Plan
from stepwatch.capture.recorder import Recorder
from stepwatch.errors import TrainingStopped
from stepwatch.judge.live import LiveWatch
from stepwatch.model.collection import Collection, as_collections
from stepwatch.model.record import TensorInfo
from stepwatch.model.save_policy import SavePolicy, Schedule
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize


def wanted(policy, name, kind, steps=range(21), *, raw=False):
    """Return the steps at which a policy argument saves a tensor."""
    plan = Plan(as_collections(policy))
    found = []
    for step in steps:
        level = OpenStep(plan, Mode.TRAIN, step).level(TensorInfo(name, kind, "float32", ()))
        if level & RAW if raw else level != NOTHING:
            found.append(step)
    return found


ALL = list(range(21))
TENTH, FIFTH = [0, 10, 20], [0, 5, 10, 15, 20]


class NeedsActivity:
    """A rule."""

    name = "needs_activity"
    needs = ("activity",)
    evidence = ("activity:raw:every=5",)

    def check(self, step):
        return ()


class TestPlan:
    def test_by_default_the_statistics_of_every_step_are_saved(self):
        """And no raw value."""
        assert ALL == wanted(None, "w", "weights")
        assert [] == wanted(None, "w", "weights", raw=True)

    def test_one_policy_is_for_everything(self):
        """Of every kind."""
        policy = SavePolicy(Schedule(every=10))
        assert TENTH == wanted(policy, "w", "weights") == wanted(policy, "x", "losses")

    def test_a_built_in_name_sets_the_policy_of_its_kind_only(self):
        """What is of another kind stays as it was."""
        policy = ["gradients:statistics:every=10"]
        assert TENTH == wanted(policy, "g", "gradients")
        assert ALL == wanted(policy, "w", "weights")

    def test_what_is_said_twice_of_a_kind_adds_up(self):
        """Neither takes anything from the other: what a rule needs is saved as well."""
        policy = ["gradients:statistics:every=10", "gradients:statistics:steps=3"]
        assert [0, 3, 10, 20] == wanted(policy, "g", "gradients")

    def test_what_a_listener_needs_is_saved(self, tmp_path):
        """Beside what the policy asks for."""
        listener = LiveWatch([NeedsActivity()])
        recorder = Recorder(tmp_path / "run", policy="weights:none", listeners=[listener])
        recorder.close()
        levels = [recorder.plan.level("active/relu", "activity", Mode.TRAIN, n) for n in (0, 5, 7)]
        assert [True, True, False] == [bool(level & RAW) for level in levels]
        assert NOTHING == recorder.plan.level("w", "weights", Mode.TRAIN, 0)

    def test_raw_leaves_the_statistics_of_every_step(self):
        """It is asked for beside them."""
        assert ALL == wanted("weights:raw:every=10", "w", "weights")
        assert TENTH == wanted("weights:raw:every=10", "w", "weights", raw=True)

    def test_patterns_add_to_the_kind(self):
        """What either wants is saved."""
        policy = ["weights:statistics:every=10", "/fc/:statistics:every=5", "/fc/:raw:steps=3"]
        assert TENTH == wanted(policy, "conv", "weights")
        assert ALL == wanted(policy, "fc", "weights")  # raw keeps statistics of every step
        assert FIFTH == wanted(policy[:2], "fc", "weights")
        assert [3] == wanted(policy, "fc", "weights", raw=True)

    def test_raw_without_statistics_takes_none_away(self):
        """A policy of raw values only leaves what the kind saves."""
        collections = [
            Collection("weights", (), SavePolicy(Schedule(every=10))),
            Collection("some", ("fc",), SavePolicy(None, Schedule(steps=frozenset({3})))),
        ]
        assert [0, 3, 10, 20] == wanted(collections, "fc", "weights")

    def test_two_patterns_with_raw_schedules_both_hold(self):
        """One does not hide the other."""
        policy = ["/fc/:raw:steps=1", "/weight/:raw:steps=2"]
        assert [1, 2] == wanted(policy, "fc.weight", "weights", raw=True)

    @pytest.mark.parametrize("kind", ["weights", "outputs"])
    def test_none_takes_out_what_it_matches(self, kind):
        """Wherever it stands, and whatever else asks for it."""
        for policy in (["/fc/:none", "/f/:raw"], ["/f/:raw", "/fc/:none"]):
            assert [] == wanted(policy, "fc", kind)
            assert ALL == wanted(policy, "f", kind)
        assert [] == wanted(f"{kind}:none", "w", kind)

    def test_patterns_keep_their_flags_and_groups(self):
        """Each is compiled by itself: ``(?i)`` and ``\\1`` mean what they say."""
        patterns = ("nothing", r"(?i)CONV", r"(a)b\1")
        collections = [Collection("mine", patterns, SavePolicy(None, None))]
        assert [] == wanted(collections, "conv", "weights") == wanted(collections, "aba", "weights")
        assert ALL == wanted(collections, "abc", "weights")

    def test_a_built_in_name_with_patterns_holds_its_kind_as_well(self):
        """As ``Collection.holds`` says."""
        collections = [Collection("losses", ("aux",), SavePolicy(None, None))]
        assert [] == wanted(collections, "l", "losses") == wanted(collections, "aux", "outputs")


def info(name, shape=(2,), kind="weights"):
    return TensorInfo(name, kind, "float32", shape)


def opened(policy=None, step=0):
    return OpenStep(Plan(as_collections(policy)), Mode.TRAIN, step)


class TestOpenStep:
    @given(st.lists(st.lists(st.floats(width=32), max_size=5), min_size=1, max_size=5))
    @settings(max_examples=60, deadline=None)
    def test_repeated_observations_are_one_row_of_them_all(self, parts):
        """Micro-batches and shared layers: the statistics of the concatenation."""
        step = opened()
        for part in parts:
            step.add(info("w"), np.array(part, np.float32))
        layout, statistics = step.close(None)

        whole = summarize(np.concatenate([np.array(part, np.float32) for part in parts]))
        assert 1 == len(layout) == len(statistics)
        np.testing.assert_allclose(whole, statistics[0], rtol=1e-9, atol=1e-30)

    def test_add_returns_the_row_of_what_is_new(self):
        """And nothing for what is merged or not wanted."""
        step = opened("gradients:none")
        assert (0, 1) == (step.add(info("a"), np.ones(2)), step.add(info("b"), np.ones(2)))
        assert step.add(info("a"), np.ones(2)) is None
        assert step.add(info("g", kind="gradients"), np.ones(2)) is None
        assert ["a", "b"] == list(step.names)

    def test_more_tensors_than_there_is_room_for_make_room(self):
        """Rows stay what they were."""
        step = opened()
        for number in range(300):
            step.add(info(f"t{number}"), np.full(2, number))
        layout, statistics = step.close(None)

        assert 300 == len(layout)
        assert list(range(300)) == statistics[:, 5].tolist()

    def test_a_raw_value_is_a_copy(self):
        """It changes in place a moment later; the last observation of a step is kept."""
        step, array = opened("weights:raw"), np.array([1.0, 2.0])
        step.add(info("w"), array)
        array += 1
        assert [1.0, 2.0] == step.raw["w"].tolist()

        step.add(info("w"), array)
        assert [2.0, 3.0] == step.raw["w"].tolist()

    def test_an_alias_has_the_numbers_of_its_row(self):
        """And its raw value."""
        step = opened("outputs:raw")
        row = step.add(info("a", kind="outputs"), np.array([1.0, 5.0]))
        step.alias(info("b", kind="outputs"), row)
        step.alias(info("a", kind="outputs"), row)
        layout, statistics = step.close(None)

        assert ["a", "b"] == [tensor.name for tensor in layout.tensors]
        np.testing.assert_array_equal(statistics[0], statistics[1])
        assert np.shares_memory(step.raw["a"], step.raw["b"])

    @pytest.mark.parametrize("count", [62, 63, 64, 65, 127, 128, 129])
    def test_an_alias_may_be_the_row_for_which_room_is_made(self, count):
        """However many tensors a step has."""
        step = opened(None)
        for number in range(count):
            row = step.add(info(f"a{number}"), np.array([float(number)]))
        assert step.alias(info("alias"), row)
        other = opened(None)
        other.absorb(step)

        for whole in (step, other):
            _, statistics = whole.close(None)
            assert count + 1 == len(statistics)
            np.testing.assert_array_equal(statistics[count - 1], statistics[count])

    def test_absorb_merges_what_both_saw(self):
        """A step that turned out to belong to another."""
        one, other = opened("weights:raw"), opened("weights:raw")
        one.add(info("a"), np.array([1.0]))
        other.add(info("a"), np.array([3.0]))
        other.add(info("b"), np.array([7.0]))
        one.absorb(other)
        layout, statistics = one.close(None)

        assert ["a", "b"] == [tensor.name for tensor in layout.tensors]
        np.testing.assert_array_equal(summarize(np.array([1.0, 3.0])), statistics[0])
        assert {"a": [3.0], "b": [7.0]} == {name: raw.tolist() for name, raw in one.raw.items()}

    def test_an_array_that_is_refused_leaves_no_trace(self):
        """No row of whatever lay in memory, and no raw value."""
        step = opened("weights:raw")
        with pytest.raises(TypeError):
            step.add(info("c"), np.zeros(2, np.complex64))

        assert (0, {}, False) == (len(step), step.raw, "c" in step)

    def test_the_same_tensors_are_the_same_layout(self):
        """So that what is looked up in it is looked up once; another order is another."""
        layouts = []
        for names in ("ab", "ab", "ba"):
            step = opened()
            for name in names:
                step.add(info(name), np.ones(2))
            layouts.append(step.close(layouts[-1] if layouts else None)[0])

        assert layouts[0] is layouts[1]
        assert layouts[1] is not layouts[2]

    def test_what_is_returned_does_not_change_any_more(self):
        """The background reads it while the next step is observed."""
        step = opened()
        row = step.add(info("a"), np.ones(2))
        _, statistics = step.close(None)
        step.statistics_of(row)[:] = -1

        assert 2 == statistics[0, 0]

    def test_low_precision_is_read_as_it_is(self):
        """bf16 values, their own raw dtype."""
        step = opened("weights:raw")
        step.add(info("w"), np.array([1.0, 2.0], ml_dtypes.bfloat16))

        assert ml_dtypes.bfloat16 == step.raw["w"].dtype


class Guarded:
    def __init__(self, *, strict=False, stuck=False):
        self.strict, self.stuck, self.detached = strict, stuck, 0

    def detach(self):
        self.detached += 1
        if self.stuck:
            raise OSError("stuck")

    @guarded
    def call(self, error=None):
        if error is not None:
            raise error
        return 7


class TestGuarded:
    def test_what_works_is_not_touched(self):
        """Its result comes back."""
        assert 7 == Guarded().call()

    def test_a_failure_is_logged_and_detaches(self, caplog):
        """Training goes on; the log has the traceback."""
        hook = Guarded()
        with caplog.at_level(logging.ERROR, "stepwatch"):
            assert hook.call(ValueError("ours")) is None

        assert 1 == hook.detached == len(caplog.records)
        assert "ValueError: ours" in caplog.text
        assert "training goes on" in caplog.text

    def test_a_detachment_that_fails_does_not_reach_training_either(self, caplog):
        """Both are logged."""
        assert Guarded(stuck=True).call(ValueError("ours")) is None
        assert 2 == len(caplog.records)

    def test_a_broken_log_handler_does_not_reach_training(self):
        """Whoever configured it."""

        class Broken(logging.Handler):
            def emit(self, record):
                raise RuntimeError("broken handler")

        handler, hook = Broken(), Guarded()
        logging.getLogger("stepwatch").addHandler(handler)
        try:
            assert hook.call(ValueError("ours")) is None
        finally:
            logging.getLogger("stepwatch").removeHandler(handler)
        assert 1 == hook.detached

    def test_strict_raises(self):
        """For tests of hooks."""
        with pytest.raises(ValueError, match="ours"):
            Guarded(strict=True).call(ValueError("ours"))

    @pytest.mark.parametrize("error", [TrainingStopped("why"), KeyboardInterrupt()])
    def test_what_is_meant_for_training_passes(self, error):
        """A finding that stops, and Ctrl-C."""
        with pytest.raises(type(error)):
            Guarded().call(error)
