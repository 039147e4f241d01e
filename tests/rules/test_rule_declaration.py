"""Parameters that rules declare, and the pieces that every rule is given."""

from __future__ import annotations

import copy
import inspect
import math
import typing
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from stepwatch.errors import ConfigError
from stepwatch.judge.parameters import parse_rules
from stepwatch.judge.rule import Streaks
from stepwatch.model.steps import Mode
from stepwatch.rules import Rule, StepView, Watch, parameter
from tests.support.rules.made_runs import MadeRun


class Base(Rule):
    """Has a parameter that comes after those of others."""

    name = "base"
    interval: int = parameter(60, "Seconds.", above=0, kw_only=True)


class Declared(Base):
    """Has a parameter of each kind."""

    name = "declared"
    least: float = parameter(1.0, "The least.", at_least=0)
    most: float = parameter(2.0, "The most.", at_least="least")
    share: float | None = parameter(None, "The share.", above=0, at_most=1)
    percent: float = parameter(50.0, "The percentage.", between=(0, 100))
    side: Literal["left", "right"] = parameter("left", "Which side.")
    names: Sequence[str] = parameter((), "Names.")
    regex: str = parameter("a", "A pattern.", regex=True)

    def begin(self) -> None:
        self.sum = self.least + self.most


class Plain(Declared):
    """Has an ``__init__`` of its own, as rules had that were written before."""

    name = "plain"

    def __init__(self, limit: int = 3) -> None:
        super().__init__(least=limit, most=9)
        self.limit = limit


class TestParameters:
    def test_the_constructor_takes_them_in_order_and_keeps_them(self):
        rule = Declared(3, 4, names=["a"])

        assert (3, 4, None, ("a",), 7) == (rule.least, rule.most, rule.share, rule.names, rule.sum)

    def test_the_signature_is_that_of_a_written_constructor(self):
        """Specs are converted by it; what is inherited comes last."""
        names = ["least", "most", "share", "percent", "side", "names", "regex", "interval"]

        assert names == list(inspect.signature(Declared).parameters)
        assert float is typing.get_type_hints(Declared.__init__)["least"]
        (watched,) = parse_rules([Declared()])
        assert 50.0 == watched.rule.percent

    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ({"least": -1}, "least must be at least 0, got -1"),
            ({"least": math.nan}, "least must be at least 0, got nan"),
            ({"most": 0.5}, "most must be at least 1.0, got 0.5"),
            ({"share": 2}, "share must be above 0 and at most 1, got 2"),
            ({"percent": 101}, "percent must be from 0 to 100, got 101"),
            ({"side": "lefd"}, "side must be one of left, right, got 'lefd'; did you mean left?"),
            ({"regex": "("}, "regex '(' does not compile"),
            ({"interval": 0}, "interval must be above 0, got 0"),
        ],
    )
    def test_a_value_out_of_bounds_is_an_error_that_names_them(self, given, error):
        with pytest.raises(ConfigError) as raised:
            Declared(**given)

        assert str(raised.value).startswith(error)

    def test_what_is_not_declared_is_an_error_of_python(self):
        with pytest.raises(TypeError):
            Declared(unknown=1)
        with pytest.raises(TypeError):
            Declared(1, 2, None, 50.0, "left", (), "a", 60)

    def test_a_constructor_of_ones_own_goes_on_to_work(self):
        assert (5, 5, 14) == (Plain(5).limit, Plain(5).least, Plain(5).sum)
        assert ["limit"] == list(inspect.signature(Plain).parameters)

    def test_bounds_become_a_sentence_of_the_docs(self):
        bounds = {name: one.bounds for name, one in Declared.parameters.items()}

        assert "At least `least`." == bounds["most"]
        assert ("Above 0, at most 1.", "From 0 to 100.") == (bounds["share"], bounds["percent"])


class Counts(Rule):
    """Reports a step that trains once there were three in a row."""

    name = "counts"
    training_only = True
    consecutive: int = parameter(3, "Steps in a row.", at_least=1)

    def check(self, step):
        if self.persists("trains", step.mode is Mode.TRAIN):
            yield self.finding(step, "", f"step {step.number}", value=1.0)


class TestPieces:
    def test_a_condition_persists_once_it_was_met_so_often_in_a_row(self):
        rule = Counts(2)
        met = [rule.persists("a", one) for one in (True, True, False, True, True)]

        assert [False, True, False, False, True] == met
        assert not copy.deepcopy(Counts(2)).persists("a", True)

    def test_a_tensor_that_is_absent_keeps_its_count(self):
        streaks = Streaks()
        streaks.count_each("worker_0", ("a", "b"), np.array([True, True]))
        streaks.count_each("worker_0", ("b",), np.array([True]))

        assert [2, 3] == streaks.count_each("worker_0", ("a", "b"), np.ones(2, bool)).tolist()

    def test_what_judges_training_only_is_not_asked_about_evaluation(self):
        """But each step that it is shown counts as an evaluation of the rule."""
        watch = Watch([Counts()])
        modes = [Mode.TRAIN, Mode.EVAL, Mode.TRAIN, Mode.EVAL, Mode.TRAIN]
        found = []
        for record, mode in zip(MadeRun(layers=1, steps=5).records(), modes, strict=True):
            object.__setattr__(record, "mode", mode)
            found += watch.evaluate(StepView([record]))
        (status,) = watch.statuses()

        assert [(4, "counts", 1.0)] == [(one.step, one.rule, one.value) for one in found]
        assert 5 == status.evaluations
