"""The arithmetic of predictions agrees with scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from stepwatch.report.xgboost_metrics import (
    accuracy,
    averages,
    bin_edges,
    calibration,
    errors_by_bin,
    normal_counts,
    recalls,
    roc,
    scores_of_classes,
    thinned,
)


@pytest.fixture(scope="module")
def classes():
    """True and predicted classes of 500 rows, of which class 3 is never predicted."""
    random = np.random.default_rng(0)
    true = random.integers(0, 4, 500)
    guess = np.where(random.random(500) < 0.6, true, random.integers(0, 3, 500))
    return true, np.where(guess == 3, 0, guess)


class TestScores:
    def test_of_each_class(self, classes):
        """Precision, recall and F1; a class that is never predicted has 0."""
        counts = metrics.confusion_matrix(*classes)

        wanted = metrics.precision_recall_fscore_support(*classes, zero_division=0)[:3]

        found = [[one.precision, one.recall, one.f1] for one in scores_of_classes(counts)]
        np.testing.assert_allclose(np.transpose(wanted), found)

    @pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
    def test_over_all_classes(self, classes, average):
        """Each average is the one of that name."""
        wanted = metrics.precision_recall_fscore_support(*classes, average=average, zero_division=0)

        found = averages(metrics.confusion_matrix(*classes))[average]

        np.testing.assert_allclose(wanted[:3], [found.precision, found.recall, found.f1])

    def test_accuracy_and_recalls(self, classes):
        """The share on the diagonal, of all and of each row."""
        counts = metrics.confusion_matrix(*classes)

        assert metrics.accuracy_score(*classes) == pytest.approx(accuracy(counts))
        np.testing.assert_allclose(
            metrics.recall_score(*classes, average=None, zero_division=0), recalls(counts)
        )

    def test_nothing_has_no_accuracy(self):
        """An empty matrix is no perfect one."""
        assert np.isnan(accuracy(np.zeros((2, 2), np.int64)))


class TestRoc:
    @pytest.mark.parametrize("digits", [1, 8], ids=["ties", "no ties"])
    def test_curve_and_area(self, digits):
        """Rows with equal scores are one step of the curve."""
        random = np.random.default_rng(1)
        labels = random.integers(0, 2, 300)
        scores = np.round(np.clip(labels * 0.3 + random.random(300) * 0.7, 0, 1), digits)

        found = roc(labels, scores)

        wanted = metrics.roc_curve(labels, scores, drop_intermediate=False)
        np.testing.assert_allclose(wanted[0], found.false_positive)
        np.testing.assert_allclose(wanted[1], found.true_positive)
        np.testing.assert_allclose(wanted[2][1:], found.thresholds[1:])
        assert metrics.roc_auc_score(labels, scores) == pytest.approx(found.area)

    def test_one_class_has_no_curve(self):
        """There is nothing to tell apart."""
        assert roc([1, 1], [0.1, 0.9]) is None

    def test_a_thinned_curve_keeps_its_ends(self):
        """And the area of the whole one."""
        whole = roc(np.arange(1000) % 2, np.arange(1000))

        few = thinned(whole, 50)

        assert len(few.thresholds) <= 50
        assert (0.0, 1.0) == (few.false_positive[0], few.false_positive[-1])
        assert whole.area == few.area


class TestBins:
    def test_calibration_counts_every_row(self):
        """A score of 1 is in the last bin."""
        mean, share, sizes = calibration([0, 1, 1], [0.04, 0.06, 1.0])

        assert [2, 1] == sizes.tolist()
        np.testing.assert_allclose([0.05, 1.0], mean)
        np.testing.assert_allclose([0.5, 1.0], share)

    def test_errors_are_of_the_bin_of_the_label(self):
        """Not of that of the prediction; the largest label is in the last bin."""
        labels = np.array([0.0, 0.4, 10.0])

        found = errors_by_bin(labels, labels + np.array([1.0, -3.0, 5.0]), bin_edges(labels))

        assert (2.0, 5.0) == (found[0], found[-1])
        assert np.isnan(found[1:-1]).all()

    def test_one_label_is_a_bin(self):
        """Labels that are all the same have a bin as well."""
        assert 0.5 == np.nanmax(errors_by_bin([3.0], [3.5], bin_edges([3.0])))

    def test_a_normal_fit_has_as_many_rows(self):
        """Summed over all bins it is what was counted."""
        edges = np.linspace(-10, 10, 201)

        assert 1000 == pytest.approx(normal_counts(edges, 1.0, 2.0, 1000).sum(), rel=1e-3)
        assert 0 == normal_counts(edges, 0.0, 0.0, 1000).sum()
