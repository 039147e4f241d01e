"""What a Debugger hook is told, as values that cannot be wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import (
    RAW,
    REDUCTIONS,
    Reduction,
    SavedCollection,
    SaveSteps,
    Stored,
    in_order,
)
from stepwatch.model.steps import Mode
from stepwatch_smdebug.plan import HookConfig

EVERY = [Reduction(name, of_abs) for name in REDUCTIONS for of_abs in (False, True)]


class TestReduction:
    @pytest.mark.parametrize("reduction", EVERY, ids=str)
    def test_its_text_says_it(self, reduction):
        """What a configuration calls it is read as it."""
        assert reduction == Reduction.parse(reduction.text)

    @pytest.mark.parametrize(
        ("text", "stored"),
        [("l1", "l1"), ("l1_norm", "l1"), (" abs_l2 ", "abs_l2"), ("abs_l2_norm", "abs_l2")],
    )
    def test_norms_have_two_names(self, text, stored):
        """With and without ``_norm``."""
        assert stored == Reduction.parse(text).stored

    @pytest.mark.parametrize("text", ["", "abs_", "mean_norm", "l3", "abs_abs_max", "Mean"])
    def test_what_is_none_is_said(self, text):
        """The message holds what was asked for."""
        with pytest.raises(ConfigError, match=f"no reduction '{text.removeprefix('abs_')}'"):
            Reduction.parse(text)

    @given(st.lists(st.sampled_from(EVERY)))
    def test_the_order_of_storing_is_one_order(self, reductions):
        """Each once, sorted by group, and sorting again changes nothing."""
        ordered = in_order(reductions)

        assert (set(reductions), len(set(reductions)), ordered) == (
            set(ordered),
            len(ordered),
            in_order(ordered),
        )


class TestSaveSteps:
    @given(
        st.integers(1, 7),
        st.integers(0, 30),
        st.none() | st.integers(0, 40),
        st.lists(st.integers(0, 50), max_size=3),
        st.integers(0, 60),
    )
    def test_a_step_is_in_the_rhythm_within_the_window_or_by_number(
        self, interval, start, end, steps, step
    ):
        """The steps by number are a union and know no window; the end is excluded."""
        window = range(start, 1000 if end is None else end)
        expected = step in steps or (step in window and step in range(0, 1000, interval))

        assert expected == SaveSteps(interval, start, end, tuple(steps)).wants(step)

    @pytest.mark.parametrize(
        "wrong", [{"interval": 0}, {"start": -1}, {"end": -1}, {"steps": (3, -1)}], ids=str
    )
    def test_wrong_ones_cannot_be_built(self, wrong):
        """An interval below 1, or a negative step."""
        with pytest.raises(ConfigError, match="must"):
            SaveSteps(**wrong)


class TestStored:
    def test_both_is_what_either_asks_for(self):
        """Reductions stay in the order in which they were asked for, each once."""
        one = Stored(reductions=(Reduction("mean"), Reduction("l1")), shape=True)
        other = Stored(raw=True, reductions=(Reduction("max"), Reduction("mean")))
        both = (Reduction("mean"), Reduction("l1"), Reduction("max"))

        assert Stored(True, both, True) == one | other


class TestSavedCollection:
    def test_a_pattern_that_does_not_compile_is_said(self):
        """Before anything is trained."""
        with pytest.raises(ConfigError, match=r"'\(' does not compile"):
            SavedCollection("own", ("(",))

    @pytest.mark.parametrize(("name", "holds"), [("a.relu", True), ("exact", True), ("b", False)])
    def test_it_holds_what_a_pattern_finds_or_is_named(self, name, holds):
        """A pattern may match anywhere in the name."""
        assert holds == SavedCollection("own", ("relu",), frozenset({"exact"})).holds(name)


class TestHookConfig:
    @pytest.mark.parametrize(
        ("included", "saved"), [({"a"}, ["a"]), ({"all"}, ["a", "b", "all"]), (set(), [])]
    )
    def test_all_among_the_included_saves_every_collection(self, included, saved):
        """Else only those that are named."""
        collections = tuple(SavedCollection(name) for name in ("a", "b", "all"))
        config = HookConfig("run", collections, frozenset(included))

        assert saved == [one.name for one in config.saved]

    def test_what_nobody_says_is_saved_in_full_every_500_steps(self):
        """The defaults."""
        config = HookConfig("run", ())

        assert (RAW, SaveSteps(500, 0, None)) == (config.stored, config.steps[Mode.TRAIN])
