"""Rows of a table that are trained on and evaluated, too.

As where rows of a rare class are drawn with replacement before the table is split: copies of one
row come to both sides, and what is reported was learned by heart. Or where one model goes on from
fold to fold of a cross-validation: what validates it in one was trained on in those before.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

#: Rows that nobody drew twice are all different if so few of a class occur more than once.
_NATURAL = 0.01
#: Of so many rows, evaluated or of a class, it is told.
_LEAST_ROWS, _LEAST_OF_CLASS = 20, 50
#: Larger arrays are not looked at.
_MOST_ELEMENTS = 10_000_000
#: Labels are classes if there are no more of them.
_MOST_CLASSES = 20


def shared_rows(
    trained: Mapping[str, Array], evaluated: Mapping[str, Array], labels: Array
) -> float:
    """Return which share of evaluated rows is among those that are trained on.

    Args:
        trained: Columns by name, shape ``[rows]``.
        evaluated: The same of what is evaluated.
        labels: Of the rows that are trained on, shape ``[rows]``.

    Returns:
        0.0 also where all rows are, as who evaluates on the training data means to, where they are
        fewer than ``_LEAST_ROWS``, and of tables in which rows repeat in every class.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = {"a": rng.normal(size=400), "b": rng.normal(size=400)}
        >>> part = {name: column[300:] for name, column in table.items()}
        >>> shared_rows({name: column[:350] for name, column in table.items()}, part, np.ones(350))
        0.5
        >>> shared_rows({name: column[:300] for name, column in table.items()}, part, np.ones(300))
        0.0
    """
    if not trained or trained.keys() != evaluated.keys():
        return 0.0
    known, asked = _digests(trained), _digests({name: evaluated[name] for name in trained})
    if labels.shape != known.shape:
        return 0.0
    is_shared = np.isin(asked, known)
    count = int(is_shared.sum())
    if not _LEAST_ROWS <= count < len(asked) or _least_repeated(known, labels) > _NATURAL:
        return 0.0
    return count / len(asked)


def shared_samples(trained: Array, evaluated: Array, labels: Array) -> float:
    """Return the same of samples of any shape, of which the first dimension is that of the rows.

    0.0 also for samples that are too large to be looked at once.
    """
    sizes = {trained.shape[1:], evaluated.shape[1:]}
    if len(sizes) != 1 or not trained.ndim or max(trained.size, evaluated.size) > _MOST_ELEMENTS:
        return 0.0
    return shared_rows(
        _columns(trained), _columns(evaluated), labels.reshape(len(labels), -1)[:, 0]
    )


def _columns(samples: Array) -> Mapping[str, Array]:
    """Return evenly spaced elements of each sample, by their place."""
    table = samples.reshape(len(samples), -1)
    step = -(-table.shape[1] // TrainedRows.MOST_COLUMNS)
    return {str(at): table[:, at] for at in range(0, table.shape[1], max(step, 1))}


class TrainedRows:
    """Remembers the rows that one model was trained on, from training to training.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> first, second = rng.normal(size=(2, 100, 3))
        >>> known = TrainedRows()
        >>> known.add(first)
        >>> known.share(np.concatenate([first[:30], second[:10]])), known.share(second)
        (0.75, 0.0)
    """

    #: Of more rows the first are remembered, and of more columns some are compared.
    MOST_ROWS, MOST_COLUMNS = 1 << 16, 64

    def __init__(self) -> None:
        self._known = np.empty(0, np.uint64)

    def add(self, rows: Array) -> None:
        """Remember rows, shape ``[rows, ...]``."""
        self._known = np.unique(np.concatenate([self._known, self._of(rows)]))[: self.MOST_ROWS]

    def share(self, rows: Array) -> float:
        """Return which share of rows is known; 0.0 of too few, and where rows repeat."""
        asked = self._of(rows)
        if len(asked) < _LEAST_ROWS or len(np.unique(asked)) < (1 - _NATURAL) * len(asked):
            return 0.0
        return float(np.isin(asked, self._known).mean())

    def _of(self, rows: Array) -> npt.NDArray[np.uint64]:
        return _digests(_columns(rows[: self.MOST_ROWS]))


def _digests(columns: Mapping[str, Array]) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for the same row."""
    rng = np.random.default_rng(0)
    total: npt.NDArray[np.uint64] | None = None
    for column in columns.values():
        bits = (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
        factor = rng.integers(1 << 62, dtype=np.uint64) | np.uint64(1)
        mixed = (bits ^ (bits >> np.uint64(29))) * factor
        mixed ^= mixed >> np.uint64(32)
        total = mixed * factor if total is None else total + mixed * factor
    return np.empty(0, np.uint64) if total is None else total


def _least_repeated(digests: npt.NDArray[np.uint64], labels: Array) -> float:
    """Return the share of rows that occur more than once, in the class where it is least."""
    _, group, counts = np.unique(digests, return_inverse=True, return_counts=True)
    repeats = counts[group.ravel()] > 1
    classes, of = np.unique(labels, return_inverse=True)
    if len(classes) > _MOST_CLASSES:
        return float(repeats.mean())
    rows = np.bincount(of.ravel())
    shares = np.bincount(of.ravel(), repeats) / rows
    return float(min(shares[rows >= _LEAST_OF_CLASS], default=1.0))
