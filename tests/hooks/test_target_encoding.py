"""Columns that are the mean label of a category, and others that are not."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.hooks.target_encoding import may_encode, rows_of_category

ROWS = 4000


def labelled(categories, kind):
    """Return the category and the label of each row; some categories have higher ones."""
    rng = np.random.default_rng(0)
    category = rng.integers(0, categories, ROWS)
    effect = rng.normal(size=categories)[category]
    labels = {
        "two classes": rng.random(ROWS) < 1 / (1 + np.exp(-effect)),
        "counts": rng.poisson(np.exp(effect / 2)),
        "prices": np.round(5 + effect + rng.normal(size=ROWS), 2),
        "numbers": effect + rng.normal(size=ROWS),
    }
    return category, labels[kind].astype(np.float64)


def means(category, labels, weight=0.0):
    """Return the mean label of each row's category, drawn to the mean of all by a weight."""
    sums, counts = np.bincount(category, labels), np.bincount(category)
    return ((sums + weight * labels.mean()) / (counts + weight).clip(1e-9))[category]


def out_of_fold(category, labels, folds=5):
    """Return the mean label of the rows of each category that are in other folds."""
    fold = np.random.default_rng(1).integers(0, folds, ROWS)
    found = np.full(ROWS, labels.mean())
    for one in range(folds):
        inside, most = fold == one, category.max() + 1
        counts = np.bincount(category[~inside], minlength=most)
        sums = np.bincount(category[~inside], labels[~inside], minlength=most)
        encoded = np.where(counts > 0, sums / counts.clip(1), labels.mean())
        found[inside] = encoded[category[inside]]
    return found


KINDS = ("two classes", "counts", "prices", "numbers")


@pytest.mark.parametrize("kind", KINDS)
class TestRowsOfCategory:
    @pytest.mark.parametrize("weight", [0.0, 1.0, 10.0])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_means_of_few_rows_are_found(self, kind, weight, dtype):
        """As some frameworks keep them, too."""
        category, labels = labelled(1500, kind)
        column = means(category, labels, weight).astype(dtype)

        assert may_encode(column, labels)
        assert 1 < rows_of_category(column, labels) < 5

    def test_means_of_other_folds_are_not(self, kind):
        category, labels = labelled(1500, kind)

        assert rows_of_category(out_of_fold(category, labels), labels) == 0

    def test_means_of_many_rows_tell_no_label(self, kind):
        category, labels = labelled(40, kind)

        assert rows_of_category(means(category, labels), labels) == 0

    def test_means_of_other_labels_are_not(self, kind):
        """As those of last year."""
        category, labels = labelled(1500, kind)
        before = np.random.default_rng(2).permutation(labels)

        assert rows_of_category(means(category, before), labels) == 0

    def test_measurements_and_copies_are_not(self, kind):
        _, labels = labelled(1500, kind)
        noise = np.random.default_rng(2).normal(size=ROWS)

        assert [0, 0, 0] == [
            rows_of_category(column, labels)
            for column in (labels + noise, np.round(labels + noise, 1), labels)
        ]


def test_a_value_of_each_category_that_its_label_depends_on_is_none():
    """All rows of a patient have one label and one age."""
    patient = np.random.default_rng(0).integers(0, 1500, ROWS)
    label, age = np.random.default_rng(1).normal(size=(2, 1500))

    assert rows_of_category((label + 0.1 * age)[patient], label[patient]) == 0


def test_columns_that_say_little_are_not_read():
    category, labels = labelled(1500, "numbers")

    assert not may_encode(np.random.default_rng(0).normal(size=ROWS), labels)
    assert not may_encode(category, labels)
