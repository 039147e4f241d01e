"""CheckInputImages, NLPSequenceRatio, FeatureImportanceOverweight and TreeDepth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepwatch import Trial, Watch, watch
from stepwatch.errors import ConfigError
from stepwatch.model.steps import Mode
from stepwatch.rules import parse_rules
from stepwatch.rules.trees import depth_by_id, depths
from tests.support.rules.made_steps import full_step, judged, steps_at

GOLDEN = Path(__file__).parents[1] / "golden" / "runs" / "xgb_saveall"


def image_step(value, number=0, name="hybridsequential0_input_0"):
    return full_step({"inputs": {name: value}}, number)


class TestCheckInputImages:
    RANDOM = np.random.default_rng(0).uniform(size=(600, 3, 4, 4))

    def test_images_from_0_to_1_are_not_normalized(self):
        (finding,) = judged("check_input_images", [image_step(self.RANDOM)])[0]
        assert 0.5 == pytest.approx(finding.value, abs=0.02)
        assert "not scaled" not in finding.message

    def test_standardized_ones_are_fine(self):
        value = (self.RANDOM - self.RANDOM.mean()) / self.RANDOM.std()
        found, status = judged("check_input_images", [image_step(value)])
        assert ([], "NoIssuesFound") == (found, status.status)

    def test_bytes_are_called_so(self):
        step = image_step((self.RANDOM * 255).astype(np.uint8))
        assert "not scaled" in judged("check_input_images", [step])[0][0].message

    def test_images_add_up_over_steps(self):
        steps = [image_step(self.RANDOM[:100], number) for number in range(8)]
        assert [4] == steps_at("check_input_images", steps)
        assert "200 images were seen" in judged("check_input_images", steps[:2])[1].details

    def test_each_channel_has_its_own_mean(self):
        """Opposite means do not cancel."""
        value = np.zeros((600, 2, 4, 4))
        value[:, 0], value[:, 1] = 0.5, -0.6
        (finding,) = judged("check_input_images", [image_step(value)])[0]
        assert (1, pytest.approx(-0.6)) == (finding.evidence["channel"], finding.value)

    def test_nan_is_left_out(self):
        value = np.zeros((600, 1, 2, 2))
        value[0] = np.nan
        assert "NoIssuesFound" == judged("check_input_images", [image_step(value)])[1].status

    def test_what_was_measured_is_weighted_by_the_number_of_images(self):
        def step(number, images, mean):
            held = {"channel_mean/0": np.array([mean], np.float32),
                    "channel_std/0": np.array([1.0], np.float32),
                    "channel_images/0": np.array(float(images))}  # fmt: skip
            return full_step({"channels": held}, number)

        assert [] == steps_at("check_input_images", [step(0, 100, 1.0), step(1, 900, 0.0)])
        (finding,) = judged("check_input_images", [step(0, 900, 1.0), step(1, 100, 0.0)])[0]
        assert 0 == finding.step
        wide = "check_input_images:threshold_mean=2,threshold_std=0.2"
        assert [1] == steps_at(wide, [step(0, 100, 1.0), step(1, 500, -1.0)])

    def test_what_are_no_images_is_not_judged(self):
        _, status = judged("check_input_images", [image_step(np.zeros((600, 5)))])
        assert ("NotEvaluated", True) == (status.status, "2 axes" in status.details)


class TestNLPSequenceRatioWindow:
    def test_looks_are_added_up(self):
        """A batch of short sequences between long ones is no waste."""
        ids = [np.r_[np.zeros(zeros), np.ones(100 - zeros)] for zeros in (80, 10, 80, 80)]
        steps = [
            full_step({"inputs": {"embedding0_input_0": values.astype(np.int64)}}, at)
            for at, values in enumerate(ids)
        ]

        assert [0, 2] == steps_at("nlp_sequence_ratio:cooldown_steps=1", steps)[:2]
        assert [2] == steps_at("nlp_sequence_ratio:window=3", steps)


class TestNLPSequenceRatio:
    @staticmethod
    def ids(zeros, number=0, dtype=np.int64):
        value = np.ones((4, 25), dtype)
        value.ravel()[:zeros] = 0
        return full_step({"inputs": {"embedding0_input_0": value}}, number)

    @pytest.mark.parametrize(("zeros", "fires"), [(75, True), (50, False), (51, True), (20, False)])
    def test_more_than_half_padding_is_too_much(self, zeros, fires):
        assert fires == bool(judged("nlp_sequence_ratio", [self.ids(zeros)])[0])

    def test_each_token_has_its_limit(self):
        spec = "nlp_sequence_ratio:token_values=0,1,token_thresholds_percent=60,30"
        (finding,) = judged(spec, [self.ids(40)])[0]
        assert (1.0, 60.0, 30.0) == (finding.evidence["token"], finding.value, finding.threshold)

    def test_ids_that_were_made_floats_are_rounded(self):
        assert [0] == steps_at("nlp_sequence_ratio", [self.ids(75, dtype=np.float32)])

    def test_what_was_counted_in_training_is_taken(self):
        held = {"token/emb": np.array([[0, 7], [75, 5]]), "token_count/emb": np.array(100.0)}
        assert [0] == steps_at("nlp_sequence_ratio", [full_step({"tokens": held})])
        held["token_count/emb"] = np.array(200.0)
        assert [] == steps_at("nlp_sequence_ratio", [full_step({"tokens": held})])

    @pytest.mark.parametrize(
        ("parameters", "told"),
        [
            ("token_values=pad", "must be numbers"),
            ("token_values=0,1,2,token_thresholds_percent=1,2", "one for each token"),
            ("token_thresholds_percent=101", "from 0 to 100"),
        ],
    )
    def test_what_cannot_be_meant_is_said_before_training(self, parameters, told):
        with pytest.raises(ConfigError, match=told):
            parse_rules(f"nlp_sequence_ratio:{parameters}")


class TestFeatureImportance:
    @staticmethod
    def step(importances, columns=10, number=0):
        held = {f"feature_importance/weight/f{n}": np.array([v]) for n, v in enumerate(importances)}
        shap = {f"average_shap/f{n}": np.array([0.0]) for n in range(columns)}
        shap["average_shap/bias"] = np.array([0.5])
        return full_step({"tensors": held | shap}, number, Mode.GLOBAL)

    def test_one_feature_of_ten_that_holds_all(self):
        """Features that the model does not use have no importance at all."""
        (finding,) = judged("feature_importance_overweight", [self.step([7.0])])[0]
        assert (1.0, "feature_importance/weight/f0") == (finding.value, finding.tensor)

    def test_ten_equal_ones_are_fine(self):
        assert [] == steps_at("feature_importance_overweight", [self.step([1.0] * 10)])

    @pytest.mark.parametrize(("columns", "fires"), [(3, False), (4, True)])
    def test_of_few_columns_the_top_ones_hold_everything(self, columns, fires):
        found, status = judged("feature_importance_overweight", [self.step([1.0], columns)])
        assert (fires, not fires) == (bool(found), status.status == "NotEvaluated")

    def test_no_importance_is_passed_over(self):
        _, status = judged("feature_importance_overweight", [self.step([0.0] * 5)])
        assert "NotEvaluated" == status.status


def grown(depth):
    """Return the columns of one full tree, its nodes numbered level by level."""
    nodes = np.arange(2 ** (depth + 1) - 1)
    inner = nodes < 2**depth - 1
    ids = np.array([f"3-{node}" for node in nodes])
    sides = ([f"3-{2 * n + k}" if one else "nan" for n, one in zip(nodes, inner, strict=True)]
             for k in (1, 2))  # fmt: skip
    yes, no = (np.array(side) for side in sides)
    return {"trees/ID": ids, "trees/Yes": yes, "trees/No": no}


def chain(length):
    """Return the columns of a tree of which each level has one split; its ids stay small."""
    nodes = range(2 * length + 1)
    splits = [node % 2 == 0 and node < 2 * length for node in nodes]
    sides = ([f"0-{node + k}" if one else "nan" for node, one in zip(nodes, splits, strict=True)]
             for k in (1, 2))  # fmt: skip
    yes, no = (np.array(side) for side in sides)
    ids = np.array([f"0-{node}" for node in nodes])
    return {"trees/ID": ids, "trees/Yes": yes, "trees/No": no}


class TestTreeDepth:
    @pytest.mark.parametrize(("depth", "fires"), [(0, False), (4, False), (5, True), (8, True)])
    def test_a_tree_deeper_than_four_is_found(self, depth, fires):
        found, status = judged("tree_depth", [full_step({"tensors": grown(depth)})])
        assert [float(depth)] * fires == [finding.value for finding in found]
        assert ("IssuesFound" if fires else "NoIssuesFound") == status.status

    def test_the_depth_is_that_of_the_links_not_of_the_ids(self):
        (finding,) = judged("tree_depth", [full_step({"tensors": chain(19)})])[0]
        assert (19.0, 5) == (finding.value, finding.evidence["by_id"])

    def test_without_links_the_ids_tell(self):
        columns = {"trees/ID": grown(4)["trees/ID"]}
        assert [] == steps_at("tree_depth", [full_step({"tensors": columns})])
        assert [0] == steps_at("tree_depth:depth=3", [full_step({"tensors": columns})])

    def test_links_in_a_circle_end(self):
        ids = np.array(["0-0", "0-1"])
        assert [-1, -1] == depths(ids, ids[::-1], np.array(["", ""])).tolist()

    def test_levels_begin_at_powers_of_two(self):
        for level in range(20):
            assert level == depth_by_id(2**level - 1) == depth_by_id(2 ** (level + 1) - 2)

    def test_without_trees_it_is_not_green(self):
        _, status = judged("tree_depth", [full_step({"losses": {"l": np.array(1.0)}})])
        assert ("NotEvaluated", True) == (status.status, "no trees" in status.details)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("tree_depth:depth=1", "IssuesFound"),
        ("tree_depth", "NoIssuesFound"),
        ("feature_importance_overweight:nfeatures=1,threshold=0.3", "IssuesFound"),
        ("feature_importance_overweight", "NotEvaluated"),  # the data have three columns
        ("confusion", "IssuesFound"),
        ("class_imbalance:samples=10", "NoIssuesFound"),
        ("overtraining", "NoIssuesFound"),
    ],
)
def test_what_smdebug_saved_of_a_boosting_is_judged(spec, expected):
    """A run of XGBoost under the hook of smdebug."""
    engine = Watch(spec)
    list(watch(Trial(GOLDEN), engine, follow=False))
    assert expected == engine.statuses()[0].status
