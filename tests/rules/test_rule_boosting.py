"""What rules make of the steps that hooks on boosted trees record."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules import Watch
from tests.support.rules.made_steps import full_step, judged, steps_at
from tests.support.rules.rule_records import step_of


def rounds(metrics, first=0):
    """Return a TRAIN and an EVAL step for each round, whose metrics are told by mode."""
    steps = []
    for number, (train, validation) in enumerate(metrics):
        counted = {"boosting/round": float(number)}
        collections = {"losses": train, "boosting": counted}
        at = first + 2 * number
        steps.append(step_of(collections, at, mode_step=at // 2))
        steps.append(step_of({"losses": validation}, at + 1, Mode.EVAL, mode_step=at // 2))
    return steps


def importances(shares, number, columns=10.0):
    """Return a step at which the importance of features was saved."""
    held = {f"feature_importance/weight/f{n}": share for n, share in enumerate(shares)}
    told = {"boosting/round": float(number), "boosting/columns": columns}
    return step_of({"feature_importance": held, "boosting": told}, number)


class TestFewLeaves:
    """A leaf must hold so much that a tree has room for two."""

    @pytest.mark.parametrize(
        ("parameters", "rows", "found"),
        [
            ({"min_data_in_leaf": 1000, "num_leaves": 31}, 2000, True),
            ({"min_data_in_leaf": 20, "num_leaves": 31}, 2000, False),
            ({"min_data_in_leaf": 20, "num_leaves": 31}, 50, False),  # few rows: as by default
            ({"min_data_in_leaf": 1000, "num_leaves": 2}, 2000, False),  # stumps are wanted
            ({"min_child_weight": 500, "max_depth": 6, "objective": "reg:squarederror"}, 900, True),
            ({"min_child_weight": 500, "max_depth": 6, "objective": "reg:gamma"}, 900, False),
        ],
    )
    def test_where_more_are_wanted(self, parameters, rows, found):
        named = {f"hyperparameters/{name}": np.array(one) for name, one in parameters.items()}
        tensors = {"hyperparameters": named, "boosting": {"boosting/rows": np.float64(rows)}}
        findings = judged("setup", [full_step(tensors, 0)])[0]

        assert (["few_leaves"] if found else []) == [one.condition for one in findings]


class TestColumnAlone:
    """One column makes nearly all of the gain, and what is evaluated is solved."""

    def found(self, *, share=0.997, last=0.002, columns=5, used=None):
        rest = (1 - share) / max(columns - 1, 1)
        gains = {
            f"feature_importance/total_gain/f{n}": np.float64(share if n == 0 else rest)
            for n in range(used or columns)
        }
        told = {"boosting/columns": np.float64(columns)}
        steps = []
        for at in range(4):
            steps.append(
                full_step({"losses": {"valid-logloss": np.float64(0.6)}}, 2 * at, Mode.EVAL)
            )
            steps.append(full_step({"feature_importance": gains, "boosting": told}, 2 * at + 1))
        steps[-2] = full_step({"losses": {"valid-logloss": np.float64(last)}}, 6, Mode.EVAL)
        return [one.condition for one in judged("label_leak", steps)[0]]

    def test_it_is_the_label(self):
        """Also where columns by which no tree splits are not listed."""
        assert ["alone f0"] == self.found()
        assert ["alone f0"] == self.found(share=1.0, used=1)

    @pytest.mark.parametrize("but", [{"share": 0.9}, {"last": 0.2}, {"columns": 2}])
    def test_a_good_column_is_none(self, but):
        """Others help, what is evaluated is not solved, or there is hardly another."""
        assert [] == self.found(**but)


class TestOverfit:
    def test_each_metric_of_each_data_pairs_with_that_of_training(self):
        """Two validation sets and two metrics: only what overfits is found."""
        train = {"train-rmse": 1.0, "train-mae": 1.0}
        validation = {"a-rmse": 1.0, "a-mae": 1.0, "b-rmse": 2.0, "b-mae": 1.0}
        found, _ = judged("overfit", rounds([(train, validation)] * 4))

        assert ["b-rmse"] == [finding.tensor for finding in found]

    def test_a_training_loss_of_nothing_is_a_loss(self):
        """Zero is a number like others."""
        found, _ = judged("overfit", rounds([({"train-rmse": 0.0}, {"a-rmse": 2.0})] * 4))

        assert ["a-rmse"] == [finding.tensor for finding in found]


class TestScaledPositives:
    """``scale_pos_weight`` is to weigh the rarer class up."""

    def found(self, counts, weight):
        """Return what is found at the first round of a training."""
        tensors = {
            "hyperparameters": {"hyperparameters/scale_pos_weight": np.array(weight)},
            "classes": {"class_count/train": np.array(counts)},
            "boosting": {"boosting/round": np.array(0)},
        }
        return judged("setup", [full_step(tensors, 0)])[0]

    @pytest.mark.parametrize(
        ("counts", "weight", "told"),
        [
            ([5736, 264], 0.046, True),
            ([60, 900], 14.0, True),
            ([5736, 264], 21.7, False),
            ([5736, 264], 1.0, False),
            ([5736, 264], 0.5, False),  # a preference, and not the counts
            ([900, 60], 3.9, False),
            ([500, 480], 0.96, False),
            ([400, 300, 200], 0.5, False),  # of three classes it has no meaning
        ],
    )
    def test_inverted_scale_pos_weight_is_found(self, counts, weight, told):
        conditions = [one.condition for one in self.found(counts, weight)]

        assert ["class_weights scale_pos_weight"] * told == conditions

    def test_what_was_meant_is_said(self):
        (found,) = self.found([1000, 50], 0.05)

        assert "weighs class 1 down, which is the rarer one" in found.message
        assert "negatives / positives, here 20" in found.remedy


class TestUngrouped:
    """Rows of a ranking that do not lie in their groups, by others that do."""

    USUAL: ClassVar = {"rows": 3200, "count": 200, "mean": 1.2, "std": 0.9, "ratio": 1.05}

    def found(self, trained, evaluated):
        """Return what is found where labels vary between groups by these ratios."""
        tensors = {
            f"boosting/{of}/{name}/{data}": np.array(value)
            for of, data, facts in (
                ("groups", "train", trained),
                ("evaluated_groups", "val", evaluated),
            )
            for name, value in (self.USUAL | facts).items()
        }
        findings, _ = judged("setup", [full_step({"boosting": tensors}, 0)])
        return [one.condition for one in findings]

    @pytest.mark.parametrize("ratio", [5.0, 0.1])
    def test_labels_at_random_where_others_are_not(self, ratio):
        """Groups have levels of their own, or are graded each by itself; either side is told."""
        assert ["ungrouped train"] == self.found({}, {"ratio": ratio})
        assert ["ungrouped val"] == self.found({"ratio": ratio}, {})

    @pytest.mark.parametrize(
        ("trained", "evaluated"),
        [
            ({}, {}),  # of independent documents both are so
            ({"ratio": 5.0}, {"ratio": 4.0}),
            ({}, {"ratio": 1.4}),  # not far enough
            ({}, {"ratio": 5.0, "count": 12, "rows": 190}),
            ({"count": 15, "rows": 240}, {"ratio": 0.1}),  # too few to tell
            ({}, {"ratio": 0.1, "rows": 20000}),  # 100 candidates of which one is right
            ({}, {"ratio": 0.1, "mean": 0.1}),
            ({}, {"ratio": 0.1, "std": 0.3}),
        ],
    )
    def test_what_may_be_meant_is_let_be(self, trained, evaluated):
        assert [] == self.found(trained, evaluated)


class TestRecoded:
    def test_all_columns_are_named_once(self):
        tensors = {f"boosting/recoded/test/{name}": np.array(9) for name in ("city", "shop")}
        findings, _ = judged("setup", [full_step({"boosting": tensors}, 0)])

        assert ["recoded test"] == [one.condition for one in findings]
        assert "city, shop: the training data and test each number" in findings[0].message


def test_exposures_without_their_logarithm_are_named():
    exposures = {"boosting": {"boosting/exposures": np.array(94.8)}}
    ((found,), _) = judged("setup", [full_step(exposures, 0)])

    assert "exposures" == found.condition
    assert found.message.endswith("by 94.8 nats")


class TestConstrained:
    def test_the_columns_and_their_ways_are_named(self):
        tensors = {"boosting/constrained/area": np.array(0.8), "boosting/constrained/age": -0.5}
        findings, _ = judged("setup", [full_step({"boosting": tensors}, 0)])

        assert ["constrained"] == [one.condition for one in findings]
        assert "area (made to fall, rank correlation with the labels 0.8)" in findings[0].message


class TestLabelIn:
    def test_the_column_is_named(self):
        tensors = {"boosting/label_in/price": np.array(1.0)}
        findings, _ = judged("label_leak", [full_step({"boosting": tensors}, 0)])

        assert ["feature"] == [one.condition for one in findings]
        assert findings[0].message.startswith("price: puts the rows in the very order")


class TestSharedRows:
    @pytest.mark.parametrize(("share", "found"), [(0.5, ["overlap"]), (0.005, [])])
    def test_rows_that_are_held_out_are_no_copies(self, share, found):
        tensors = {"evaluation/held_out_rows/train_test_split": np.array(share)}
        findings, _ = judged("label_leak", [full_step({"evaluations": tensors}, 0)])

        assert found == [one.condition for one in findings]
        told = "50% of the rows that train_test_split holds out are among those that are trained on"
        assert all(one.message.startswith(told) for one in findings)


class TestEncoded:
    @pytest.mark.parametrize(
        ("collection", "prefix"), [("boosting", "boosting"), ("evaluations", "evaluation")]
    )
    def test_all_columns_are_named_once(self, collection, prefix):
        names = ("city_mean", "shop_mean")
        tensors = {f"{prefix}/encoded/{name}": np.array(2.5) for name in names}
        findings, _ = judged("label_leak", [full_step({collection: tensors}, 0)])

        assert ["encoded"] == [one.condition for one in findings]
        assert findings[0].message.startswith("city_mean, shop_mean: each value is the mean label")


class TestAnotherModel:
    @pytest.mark.parametrize(("continues", "told"), [(False, []), (True, [20])])
    def test_rules_begin_anew_when_rounds_do(self, continues, told):
        """A second model begins with a large loss; in one that goes on this would be a rise."""
        losses = [1.0 / (1 + number) for number in range(10)] * 2
        count = list(range(20)) if continues else [*range(10), *range(10)]
        steps = [
            step_of(
                {"losses": {"train-rmse": loss}, "boosting": {"boosting/round": float(number)}},
                step,
            )
            for step, (loss, number) in enumerate(zip(losses, count, strict=True))
        ]

        found = steps_at("loss_not_decreasing:num_steps=5", steps)
        assert bool(told) == bool(found)


class TestFeatureImportance:
    rule = "feature_importance_overweight"

    @pytest.mark.parametrize(("number", "at"), [(8, []), (9, [9])])
    def test_a_model_of_few_rounds_is_not_judged(self, number, at):
        """Its trees cannot hold many features."""
        assert at == steps_at(self.rule, [importances([1.0], number)])

    def test_why_it_was_not_judged_is_said(self):
        """If no model had more rounds."""
        _, status = judged(self.rule, [importances([1.0], 0)])

        assert "NotEvaluated" == status.status
        assert "fewer than 10 rounds" in status.details

    @pytest.mark.parametrize(("columns", "at"), [(3.0, []), (4.0, [20])])
    def test_columns_are_told_by_the_hook(self, columns, at):
        """Three of three hold everything."""
        assert at == steps_at(self.rule, [importances([1.0], 20, columns)])

    def test_as_sagemaker_does_it(self):
        """From the first round on."""
        assert [0] == steps_at(f"{self.rule}:profile=compat", [importances([1.0], 0)])


def boosted(rounds=30, first=0, **named):
    """Return rounds that hold what ``boosting/...`` is: a number, or a function of the round."""
    names = {name.replace("__", "/").replace("_of_", "-"): value for name, value in named.items()}
    return [
        step_of(
            {
                "boosting": {
                    "boosting/round": float(number),
                    **{
                        f"boosting/{name}": float(value(number) if callable(value) else value)
                        for name, value in names.items()
                    },
                }
            },
            number,
        )
        for number in range(first, first + rounds)
    ]


def conditions(steps):
    """Return what rule ``setup`` finds: condition and step."""
    return [(one.condition, one.step) for one in judged("setup", steps)[0]]


class TestUnsplit:
    @pytest.mark.parametrize(("rounds", "expected"), [(9, []), (30, [("unsplit", 9)])])
    def test_ten_rounds_without_a_split(self, rounds, expected):
        """The hook counts them as long as there is none."""
        assert expected == conditions(boosted(rounds, unsplit_rounds=lambda number: number + 1))

    def test_trees_that_split(self):
        """Nothing is counted."""
        assert [] == conditions(boosted())


def rises(number):
    """Return a share that rises from 0 as long as it can."""
    return 0.8 * number / (number + 5)


class TestEarlyStopping:
    def of(self, name, sign, valid, train=None, rounds=30):
        """Return what is found where a metric ends the training early."""
        named = {f"stops_by__valid_of_{name}": sign, f"stops_at__valid_of_{name}": valid}
        if train is not None:
            named[f"trains_at__valid_of_{name}"] = train
        return [condition for condition, _ in conditions(boosted(rounds, **named))]

    @pytest.mark.parametrize("name", ["f1", "my_auc", "accuracy", "f1_macro"])
    def test_less_of_what_ought_to_rise(self, name):
        """By its name; where it does rise."""
        assert [f"early_stopping valid-{name}"] == self.of(name, -1, rises, rounds=6)
        assert [] == self.of(name, 1, rises)

    def test_more_of_a_loss(self):
        """It falls, and the first round stays the best one."""
        assert ["early_stopping valid-logloss"] == self.of("logloss", 1, lambda n: 0.7 / (n + 1))

    def test_a_metric_with_its_sign_turned(self):
        """Minus F1 under the name of F1 falls, as it is told."""
        assert [] == self.of("f1", -1, lambda number: -rises(number))

    def test_the_data_that_are_trained_on(self):
        """Where others are evaluated too, as the hook says by their value."""

        def falls(number):
            return 0.7 / (number + 1)

        by_train = {
            "stops_by__train_of_logloss": -1,
            "stops_at__train_of_logloss": falls,
            "trains_at__train_of_logloss": falls,
        }
        held_out = {"held_out__train_of_logloss": 0.6}
        assert [] == conditions(boosted(30, **by_train))
        found = conditions(boosted(30, **by_train, **held_out))
        assert [("stops_on_trained train-logloss", 3)] == found

    def test_a_loss_that_overfits(self):
        """It rises on the validation data from the first round on, and less is better."""
        assert [] == self.of("rmse", -1, rises)
        assert [] == self.of("cost", -1, rises, lambda number: -rises(number))

    @pytest.mark.parametrize("rounds", [8, 30])
    def test_an_unknown_name_is_judged_by_the_training_data(self, rounds):
        """Training makes it larger there as well, and less is taken for better."""
        assert ["early_stopping valid-profit"] == self.of("profit", -1, rises, rises, rounds)
        assert [] == self.of("profit", -1, rises, None, rounds)
        assert [] == self.of("profit", 1, rises, rises, rounds)

    def test_a_metric_that_stands_still_or_jitters(self):
        """It says nothing of a direction."""
        jitter = np.random.default_rng(0).normal(0.5, 0.1, 30)
        assert [] == self.of("f1", -1, 0.0)
        assert [] == self.of("f1", -1, lambda number: 0.4 if number == 0 else abs(jitter[number]))


class TestRulesOfNetworks:
    def test_they_have_nothing_to_judge_in_trees(self):
        """That is no lack of evidence; a rule of losses that saw none lacks some."""
        watch = Watch(["vanishing_gradient", "training_mode", "feature_importance_overweight"])
        for step in rounds([({"train-rmse": 1.0}, {"a-rmse": 1.0})] * 4):
            watch.evaluate(step)
        watch.finish()

        assert [("NotEvaluated", True), ("NotEvaluated", True), ("NotEvaluated", False)] == [
            (status.status, status.idle) for status in watch.statuses()
        ]
