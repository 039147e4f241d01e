"""The plan of a hook configuration: what of a tensor is saved at a step."""

from __future__ import annotations

import pytest

from stepwatch.capture.plan import NOTHING, RAW, STATISTICS
from stepwatch.formats.smdebug.collections import RAW as STORE_RAW
from stepwatch.formats.smdebug.collections import Reduction, SavedCollection, SaveSteps, Stored
from stepwatch.model.steps import Mode
from stepwatch_smdebug.plan import DebuggerPlan, HookConfig

MEAN, PROD = Reduction("mean"), Reduction("prod")


def every(interval):
    """Return one rhythm for all modes."""
    return {mode: SaveSteps(interval) for mode in Mode}


def plan_of(*collections, included=("all",), histograms=False):
    """Return the plan of a hook that saves these collections."""
    return DebuggerPlan(HookConfig("run", collections, frozenset(included)), histograms=histograms)


class TestStored:
    def test_a_tensor_of_two_collections_gets_what_is_due_of_either(self):
        """At a step at which both are due, what both store; else what the one does."""
        plan = plan_of(
            SavedCollection("all", ("fc",), steps=every(2), stored=Stored(reductions=(MEAN,))),
            SavedCollection("own", ("weight",), steps=every(3), stored=Stored(shape=True)),
        )

        assert [
            Stored(False, (MEAN,), True),
            None,
            Stored(reductions=(MEAN,)),
            Stored(shape=True),
        ] == [plan.stored("fc.weight", Mode.TRAIN, step) for step in range(4)]

    def test_of_a_tensor_of_no_collection_nothing_is(self):
        """Whatever else is due."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(1)))

        assert plan.stored("conv.weight", Mode.TRAIN, 0) is None

    def test_a_collection_that_is_not_included_does_not_count(self):
        """It is known, and not saved."""
        plan = plan_of(SavedCollection("own", ("fc",), steps=every(1)), included=("losses",))

        assert plan.stored("fc.weight", Mode.TRAIN, 0) is None

    def test_a_collection_that_stores_nothing_saves_nothing(self):
        """Neither value nor reduction nor shape: as if it were not due."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(1), stored=Stored()))

        assert plan.stored("fc.weight", Mode.TRAIN, 0) is None

    def test_each_mode_has_its_own_steps(self):
        """The step is that of the mode."""
        steps = every(2) | {Mode.EVAL: SaveSteps(3)}
        plan = plan_of(SavedCollection("all", ("fc",), steps=steps))

        assert ([0, 2, 4], [0, 3]) == tuple(
            [step for step in range(6) if plan.stored("fc", mode, step)]
            for mode in (Mode.TRAIN, Mode.EVAL)
        )

    def test_what_is_always_stored_is_stored_in_full_at_every_step(self):
        """Also of what was asked for before it was said."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(2)))
        before = plan.stored("scalar/x", Mode.TRAIN, 1)
        plan.always("scalar/x")

        assert (None, STORE_RAW) == (before, plan.stored("scalar/x", Mode.TRAIN, 1))

    def test_what_is_always_stored_may_be_told(self):
        """Exactly that, and nothing that its collections would add."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(1)))
        plan.always("fc", Stored(reductions=(MEAN,)))

        assert Stored(reductions=(MEAN,)) == plan.stored("fc", Mode.TRAIN, 0)

    def test_the_answer_does_not_wear_off(self):
        """After hundreds of steps it is still that of the first."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(7)))
        answers = [plan.stored("fc", Mode.TRAIN, step) is not None for step in range(500)]

        assert [step % 7 == 0 for step in range(500)] == answers


class TestLevel:
    @pytest.mark.parametrize(
        ("stored", "level"),
        [
            (Stored(), NOTHING),
            (Stored(shape=True), STATISTICS),
            (Stored(reductions=(MEAN,)), STATISTICS),
            (Stored(reductions=(MEAN, PROD)), STATISTICS | RAW),
            (STORE_RAW, STATISTICS | RAW),
        ],
    )
    def test_values_are_captured_only_where_statistics_do_not_do(self, stored, level):
        """A product does not follow from the statistics of a tensor; a mean does."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(1), stored=stored))

        assert level == plan.level("fc", "weights", Mode.TRAIN, 0)

    @pytest.mark.parametrize(
        ("histogram", "level"), [(True, STATISTICS | RAW), (False, STATISTICS)]
    )
    def test_histograms_need_values(self, histogram, level):
        """Of the collections that show them."""
        collection = SavedCollection(
            "all", ("fc",), steps=every(1), stored=Stored(shape=True), histogram=histogram
        )

        assert level == plan_of(collection, histograms=True).level("fc", "", Mode.TRAIN, 0)

    def test_nothing_is_captured_at_a_step_that_is_not_due(self):
        """Not even for histograms."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(2)), histograms=True)

        assert NOTHING == plan.level("fc", "weights", Mode.TRAIN, 1)


class TestHistogram:
    def test_it_is_shown_under_the_first_collection_that_shows_any(self):
        """Scalars and collections that say no are left out."""
        plan = plan_of(
            SavedCollection("losses", ("x",)),
            SavedCollection("quiet", ("x",), histogram=False),
            SavedCollection("own", ("x",)),
        )

        assert ("own", None) == (plan.histogram("x"), plan.histogram("y"))


class TestScalar:
    @pytest.mark.parametrize(
        ("tensor", "shown"), [("scalar/lr", True), ("x_loss", True), ("x", False)]
    )
    def test_curves_are_shown_of_scalars_by_name_or_collection(self, tensor, shown):
        """What was saved as a scalar, and what is in a collection of scalars."""
        plan = plan_of(SavedCollection("losses", ("loss",)), SavedCollection("own", ("x",)))

        assert shown == plan.scalar(tensor)


class TestChanges:
    def test_a_tensor_joins_collections_and_makes_those_that_are_not_there(self):
        """It belongs to both, and what either stores of it is stored."""
        known = SavedCollection("own", ("fc",), stored=Stored(reductions=(MEAN,)))
        plan = plan_of(known)
        plan.join("x", ["own", "new"])

        assert (["own", "new"], STORE_RAW, ["own", "new"]) == (
            [one.name for one in plan.members("x")],
            plan.stored("x", Mode.TRAIN, 1),
            [one.name for one in plan.collections],
        )

    def test_a_tensor_that_joins_reductions_is_not_stored_in_full(self):
        """Only what the collection stores."""
        plan = plan_of(SavedCollection("own", ("fc",), stored=Stored(reductions=(MEAN,))))
        plan.join("x", ["own"])

        assert Stored(reductions=(MEAN,)) == plan.stored("x", Mode.TRAIN, 1)

    def test_another_configuration_is_followed_by_whoever_holds_the_collections(self):
        """Answers are new, and the list of collections is the same list."""
        plan = plan_of(SavedCollection("all", ("fc",), steps=every(2)))
        collections, before = plan.collections, plan.stored("fc", Mode.TRAIN, 1)
        plan.adopt(HookConfig("run", (SavedCollection("b", ("fc",), steps=every(1)),), {"b"}))

        assert (None, STORE_RAW, ["b"]) == (
            before,
            plan.stored("fc", Mode.TRAIN, 1),
            [one.name for one in collections],
        )
