"""What the hooks on boosted trees share, without a framework."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from stepwatch.hooks.boosting.hook import class_counts, confusion, parsed
from stepwatch.hooks.boosting.objectives import Objective
from stepwatch.hooks.boosting.rounds import (
    Metric,
    Node,
    columns_of,
    constrained_against,
    grouping,
    numbered,
    numbered_by_appearance,
    recoded,
    shares,
)
from stepwatch.hooks.patching import ListenerPatches
from stepwatch.rules.boosting import UPHILL


class TestMetric:
    @pytest.mark.parametrize(
        ("name", "collection"),
        [
            ("rmse", "losses"),
            ("mlogloss", "losses"),
            ("poisson-nloglik", "losses"),
            ("tweedie-nloglik@1.5", "losses"),
            ("binary_logloss", "losses"),
            ("error@0.7", "metrics"),
            ("merror", "metrics"),
            ("ndcg@5", "metrics"),
            ("aucpr", "metrics"),
            ("my-own", "metrics"),
        ],
    )
    def test_which_are_losses(self, name, collection):
        """Those of which it is known that training makes them smaller in each round."""
        assert collection == Metric("train", name, 1.0).collection


class TestClasses:
    def test_rows_are_what_was_meant(self):
        """Labels that are no class are left out."""
        labels = np.array([0, 0, 1, 1, 1, -1, 0.5, np.nan, 2])
        said = np.array([0.1, 0.9, 0.8, 0.7, 0.5, 0.9, 0.9, 0.9, 0.9])

        np.testing.assert_array_equal([[1, 1], [1, 2]], confusion(labels, said, 2))
        np.testing.assert_array_equal([2, 3], class_counts(labels, 2))

    @pytest.mark.parametrize(
        "said", [[[0.2, 0.7, 0.1], [0.1, 0.2, 0.7]], [1.0, 2.0]], ids=["scores", "classes"]
    )
    def test_of_several_classes(self, said):
        """Scores of each, or the class itself."""
        expected = [[0, 1, 0], [0, 0, 0], [0, 0, 1]]
        np.testing.assert_array_equal(expected, confusion(np.array([0, 2]), np.array(said), 3))

    @pytest.mark.parametrize("num_classes", [0, 101])
    def test_too_few_or_too_many(self, num_classes):
        """No classes, or a matrix that nobody reads."""
        assert confusion(np.zeros(3), np.zeros(3), num_classes) is None

    def test_no_labels(self):
        """As of data that is only predicted."""
        assert class_counts(np.empty(0), 2) is None
        assert confusion(np.empty(0), np.zeros(3), 2) is None


class TestTrees:
    def test_a_row_for_each_node(self):
        """Children by the ids of nodes; a leaf has none."""
        split = Node(2, 0, "age", 1.5, yes=1, no=2, missing=2, gain=3.0, cover=9.0)
        columns = columns_of([split, Node(2, 1, gain=-1.0), Node(2, 2, gain=1.0)])

        assert ["2-0", "2-1", "2-2"] == columns["ID"].tolist()
        assert ["2-1", "nan", "nan"] == columns["Yes"].tolist()
        assert ["2-2", "nan", "nan"] == columns["Missing"].tolist()
        assert ["age", "Leaf", "Leaf"] == columns["Feature"].tolist()
        assert [1.5, 0.0, 0.0] == columns["Split"].tolist()


class TestValues:
    def test_shares_sum_to_one(self):
        """Nothing of nothing is nothing."""
        found = {name: float(share) for name, share in shares("gain", {"a": 1, "b": 3}).items()}
        assert {"gain/a": 0.25, "gain/b": 0.75} == found
        assert 0.0 == float(shares("gain", {"a": 0})["gain/a"])

    @pytest.mark.parametrize(
        ("text", "value"), [("0.5", 0.5), ("3", 3.0), ("hist", "hist"), ("nan", "nan")]
    )
    def test_a_parameter_is_a_number_if_it_is_finite(self, text, value):
        """Else it would look like a fault of the training."""
        assert value == parsed(text).item()


class TestListening:
    @staticmethod
    def owner_and_listening():
        """Return what holds a function, and who listens to it."""
        owner = SimpleNamespace(train=lambda x: [x])

        def telling(original, listeners):
            return lambda x: [*original(x), *listeners]

        return owner, ListenerPatches([(owner, "train", telling)])

    def test_all_who_listen_are_told_once(self):
        """And the function is put back after the last."""
        owner, listening = self.owner_and_listening()
        original = owner.train
        for name in ("a", "b", "a"):
            listening.add(name)
        assert [1, "a", "b"] == owner.train(1)

        listening.remove("a")
        assert [1, "b"] == owner.train(1)
        listening.remove("b")
        assert owner.train is original

    def test_who_comes_back_finds_the_functions_replaced(self):
        """Meanwhile nobody is told; they are put back when that is asked for, or the last goes."""
        owner, listening = self.owner_and_listening()
        original = owner.train
        listening.add("a")
        ours = owner.train
        listening.remove("a", returns=True)
        assert ([1], ours) == (owner.train(1), owner.train)

        listening.add("a")
        listening.put_back()
        assert ([1, "a"], ours) == (owner.train(1), owner.train)
        listening.remove("a", returns=True)
        listening.put_back()
        assert owner.train is original

    def test_what_somebody_else_wrapped_stays(self):
        """It tells nobody, and is not wrapped twice when somebody listens again."""
        owner, listening = self.owner_and_listening()
        listening.add("a")
        ours = owner.train
        owner.train = theirs = lambda x: ["theirs", *ours(x)]
        listening.remove("a")
        assert owner.train is theirs
        assert ["theirs", 1] == owner.train(1)

        listening.add("b")
        assert ["theirs", 1, "b"] == owner.train(1)


class TestGrouping:
    def test_rows_at_random_differ_between_groups_as_within_them(self):
        """And those of one level for each group by far more."""
        rng = np.random.default_rng(0)
        sizes = rng.integers(5, 20, 300)
        levels = np.repeat(rng.normal(size=300), sizes)
        labels = levels + rng.normal(size=len(levels))

        assert 5 < grouping(labels, sizes)["ratio"]
        assert grouping(rng.permutation(labels), sizes)["ratio"] == pytest.approx(1, abs=0.3)

    def test_what_has_no_groups_says_nothing(self):
        """Nor do groups that do not fit, each row alone, or labels that are all the same."""
        labels = np.arange(6.0)
        for sizes in ([], [6], [2, 2], [1] * 6):
            assert {} == grouping(labels, np.array(sizes, np.int64))
        assert {} == grouping(np.ones(6), np.array([3, 3]))

    def test_empty_groups_have_no_rows(self):
        labels = np.array([0.0, 1.0, 4.0, 5.0])

        assert grouping(labels, np.array([2, 2])) == grouping(labels, np.array([2, 0, 2]))


class TestRecoded:
    """Categories that two tables number each by itself, as pandas.factorize does."""

    rng = np.random.default_rng(0)
    names = rng.integers(0, 40, (2, 3000))

    @staticmethod
    def factorized(names):
        _, first, codes = np.unique(names, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[codes].astype(np.float32)

    def test_each_by_its_own_rows(self):
        train, test = map(self.factorized, self.names)

        assert {"city": 40} == recoded(numbered({"city": train}), {"city": test})

    def test_once_for_all_rows(self):
        both = self.factorized(self.names.reshape(-1))

        assert {} == recoded(numbered({"city": both[:3000]}), {"city": both[3000:]})

    def test_evaluation_on_the_rows_that_are_trained_on(self):
        train = self.factorized(self.names[0])

        assert {} == recoded(numbered({"city": train}), {"city": train[:500]})

    def test_missing_values_are_passed_over(self):
        assert numbered_by_appearance(np.append(np.nan, self.factorized(self.names[0]))) == 40

    @pytest.mark.parametrize(
        "column",
        [
            [],
            [0.0] * 50,
            np.arange(50) % 24,  # hours
            np.repeat(np.arange(20), 5),  # sorted
            rng.integers(0, 6, 100),  # few, in this order by chance
            np.linspace(0, 9, 90),  # not whole
            rng.integers(0, 40, 300),
        ],
    )
    def test_what_only_counts_is_let_be(self, column):
        assert 0 == numbered_by_appearance(np.asarray(column, np.float64))


class TestConstraints:
    """The price of a flat rises with its area and its floor, and falls with its age."""

    area, floor, age, rest = np.random.default_rng(0).normal(size=(4, 1000))
    price = 2 * area + floor - 2 * age + rest

    @property
    def rows(self):
        return {"area": self.area, "floor": self.floor, "age": self.age}

    @pytest.mark.parametrize(
        "constraints",
        ["[-1, 0, 1]", "(-1,0,1)", "area:-1,age:1", "{'area': -1, 'age': 1}", "0:-1,2:1"],
    )
    def test_monotone_constraints_against_the_data_are_found(self, constraints):
        """However they are written."""
        assert ["age", "area"] == sorted(constrained_against(self.rows, self.price, constraints))

    @pytest.mark.parametrize(
        "constraints", ["[1, 1, -1]", "{'age': -1}", "[0, 0, 0]", "[1, 1, 1]", "None", ""]
    )
    def test_others_are_let_be(self, constraints):
        """One alone may be meant: it is of what other columns leave."""
        assert {} == constrained_against(self.rows, self.price, constraints)

    def test_of_a_few_rows_nothing_is_said(self):
        few = {name: column[:100] for name, column in self.rows.items()}
        assert {} == constrained_against(few, self.price, "[-1, 0, 1]")


class TestObjective:
    """Margins go a tenth of Newton's way in each round, as boosting takes them."""

    labels = np.random.default_rng(0).poisson(3.0, 500)

    def known(self, objective, rounds=7, begin=0.0):
        known, margins = Objective(), np.full(500, begin)
        for _ in range(rounds):
            gradients, hessians = objective(margins)
            known.add(margins, gradients, hessians)
            margins = margins - 0.1 * gradients / (hessians + 0.1)
        return known.known()

    def share(self, objective, rounds=7):
        return self.known(objective, rounds).get("curvature")

    def poisson(self, margins, sign=1):
        rate = np.exp(margins)
        return sign * (rate - self.labels), rate

    def test_gradients_of_a_loss_rise_with_the_margins(self):
        assert 1.0 == self.share(self.poisson)

    def test_those_of_the_wrong_sign_fall(self):
        assert -1.0 == self.share(lambda margins: self.poisson(margins, -1))

    def test_where_gradients_stay_nothing_is_known(self):
        """As those of a quantile, but for the rows that a round takes past it."""
        share = self.share(lambda m: (np.where(self.labels > m, -0.9, 0.1), np.ones(500)))
        assert share is None or share > UPHILL

    def test_after_a_few_rounds_nothing_is_known(self):
        assert self.known(self.poisson, rounds=4) == {}

    @pytest.mark.parametrize("begin", [0.1, 0.5])
    @pytest.mark.parametrize("weights", [1.0, np.linspace(0.1, 3, 500)])
    @pytest.mark.parametrize("clips", [False, True])
    @pytest.mark.parametrize("takes", ["margins", "probabilities", "squares"])
    def test_margins_that_are_taken_for_probabilities(self, begin, weights, clips, takes):
        """By the labels that derivatives tell."""
        classes = self.labels > 2

        def objective(margins):
            chances = 1 / (1 + np.exp(-margins)) if takes == "probabilities" else margins
            hessians = np.ones(500) if takes == "squares" else chances * (1 - chances)
            hessians = np.maximum(hessians, 1e-16) if clips else hessians
            return weights * (chances - classes), weights * hessians

        known = self.known(objective, begin=begin)
        assert known["of_probabilities"] == (takes == "margins")
