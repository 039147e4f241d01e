"""The report on boosted trees, of runs of the real smdebug and of made ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stepwatch.report import report, suits
from stepwatch.report.document import Chart, Text
from stepwatch.report.xgboost import _largest_first
from stepwatch.trial import Trial
from tests.support.report.boosted_runs import boosted_run

GOLDEN = Path(__file__).parents[1] / "golden" / "runs" / "xgb_saveall"
RANDOM = np.random.default_rng(0)


def sections(made):
    return {section.key: section for section in made.sections}


def charts(section):
    return [block for block in section.blocks if isinstance(block, Chart)]


def texts(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Text))


@pytest.fixture(scope="module")
def binary():
    """A training that tells two classes apart ever better; 100 rows."""
    labels = np.arange(100) % 2
    steps = [
        {
            "train-logloss": np.float64(1 / (step + 1)),
            "validation-logloss": np.float64(2 / (step + 1)),
            "test-auc": np.float64(0.5),
            "label/validation": labels,
            "prediction/validation": np.clip(labels * 0.1 * step + 0.1, 0, 1).astype(np.float32),
            "feature_importance/weight/f10": np.float64(0.25),
            "feature_importance/weight/f9": np.float64(0.75),
        }
        for step in range(10)
    ]
    return boosted_run("memory://binary", steps)


class TestBinary:
    def test_every_section_is_there(self, binary):
        """In the order in which they are read."""
        assert "xgboost" == suits(binary)
        assert [
            "LossData",
            "LabelsDistribution",
            "FeatureImportance",
            "ConfusionMatrix",
            "EvaluationMetrics",
            "IterativeClassAccuracy",
            "RocCurve",
            "Calibration",
            "hyperparameters",
        ] == [key for key in sections(report(binary)) if not key.startswith("cause")]

    def test_a_metric_is_drawn_over_the_rounds(self, binary):
        """Evaluating a round is not one of its own."""
        (drawn, *_) = charts(sections(report(binary))["LossData"])

        assert "round" == drawn.data["over"]
        assert all(int(line.last[-1]) < 10 for line in drawn.data["lines"].values())

    def test_what_counts_most_is_on_top(self):
        """By magnitude, as what lowers a prediction counts as well."""
        assert ["b", "c", "a"] == [*_largest_first({"a": 0.1, "b": -3.0, "c": 2.0})]

    def test_a_metric_is_one_chart_of_all_its_data(self, binary):
        """However many there are."""
        drawn = charts(sections(report(binary))["LossData"])

        assert {"auc": {"test"}, "logloss": {"train", "validation"}} == {
            chart.data["title"]: {*chart.data["lines"]} for chart in drawn
        }

    def test_named_features_are_in_their_order(self, binary):
        """f9 before f10; a share of 0.75 is 75."""
        (chart,) = charts(sections(report(binary))["FeatureImportance"])

        assert [("f9", 75.0), ("f10", 25.0)] == [*chart.data["values"].items()]

    def test_the_confusion_is_that_of_the_last_step(self, binary):
        """There all are told apart."""
        (chart,) = charts(sections(report(binary))["ConfusionMatrix"])

        assert [[50, 0], [0, 50]] == chart.data["counts"].tolist()
        assert "100.0% of 100 rows" in texts(sections(report(binary))["EvaluationMetrics"])

    def test_each_class_over_the_steps(self, binary):
        """Class 1 is found once its score exceeds 0.5."""
        (chart,) = charts(sections(report(binary))["IterativeClassAccuracy"])

        steps, share = chart.data["points"]["1"]
        assert [*range(10)] == steps
        assert [0.0] * 5 == share[:5]
        assert 1.0 == share[-1]

    def test_the_area_of_a_perfect_model(self, binary):
        """All positive rows have higher scores than all others."""
        (chart,) = charts(sections(report(binary))["RocCurve"])

        assert "Area under the curve: 1.0000" == chart.data["title"]


class TestNumbers:
    def test_errors_by_label(self):
        """Ten bins, a line each; and those at the last step."""
        labels = np.linspace(0, 9.99, 1000)
        steps = [
            {"label/validation": labels, "prediction/validation": labels + error}
            for error in (4.0, 1.0)
        ]
        found = sections(report(boosted_run("memory://reg", steps, objective="reg:squarederror")))

        (over,) = charts(found["ErrorOverSteps"])
        assert 10 == len(over.data["points"])
        assert ([0, 1], pytest.approx([4.0, 1.0])) == next(iter(over.data["points"].values()))
        (last,) = charts(found["ErrorByLabel"])
        assert [pytest.approx(1.0)] * 10 == [*last.data["values"].values()]
        assert "ConfusionMatrix" not in found

    def test_labels_that_are_skewed_are_told(self):
        """With what may be done about it."""
        labels = np.exp(RANDOM.normal(size=2000) * 2)
        steps = [{"label/validation": labels, "prediction/validation": labels}]
        found = sections(report(boosted_run("memory://skew", steps, objective="reg:gamma")))

        assert "logarithm" in texts(found["LabelsDistribution"])


class TestClasses:
    def test_scores_of_each_class(self):
        """The largest score is what is predicted."""
        labels = np.arange(90) % 3
        scores = np.eye(3, dtype=np.float32)[np.where(labels == 2, 1, labels)]
        steps = [{"label/validation": labels, "prediction/validation": scores}]

        found = sections(report(boosted_run("memory://soft", steps, objective="multi:softprob")))

        (chart,) = charts(found["ConfusionMatrix"])
        assert [[30, 0, 0], [0, 30, 0], [0, 30, 0]] == chart.data["counts"].tolist()
        assert "RocCurve" not in found

    def test_a_summary_is_enough_for_a_confusion(self):
        """Where labels were not saved in full, and the rest says how to save them."""
        counts = np.array([[3, 1], [0, 4]])
        steps = [{"label/validation": np.ones(()), "confusion/validation": counts}]

        found = sections(report(boosted_run("memory://summary", steps)))

        (chart,) = charts(found["ConfusionMatrix"])
        assert counts.tolist() == chart.data["counts"].tolist()
        assert "--save labels:raw" in texts(found["RocCurve"])


class TestOthers:
    def test_an_unknown_objective_has_the_general_charts(self):
        """And is told."""
        steps = [{"train-rank": np.float64(1.0), "feature_importance/gain/age": np.float64(1.0)}]

        found = sections(report(boosted_run("memory://rank", steps, objective="rank:pairwise")))

        assert "'rank:pairwise'" in texts(found["objective"])
        assert charts(found["FeatureImportance"])
        assert "ConfusionMatrix" not in found

    def test_nothing_saved_is_told_everywhere(self):
        """A message in the place of each chart, and never a crash."""
        found = sections(report(boosted_run("memory://bare", [{"train-logloss": np.float64(1)}])))

        assert "were not saved" in texts(found["LabelsDistribution"])
        assert "were not saved" in texts(found["ConfusionMatrix"])
        assert "No importance" in texts(found["FeatureImportance"])

    def test_a_run_of_smdebug(self):
        """As the real smdebug wrote it: every section, and all of it is JSON."""
        made = report(Trial(GOLDEN))

        found = sections(made)
        assert {"ConfusionMatrix", "RocCurve", "LossData"} <= found.keys()
        assert "binary:logistic" == made.facts["objective"]
        json.dumps(made.to_dict(), allow_nan=False)
