"""What the nearest samples tell of the data that a model is given.

Whether labels belong to their samples, and whether samples that are evaluated are like those that
are trained on, whatever a model makes of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..model.steps import Mode
from ..numerics.measures import Floats

#: Of so many samples, and of so many elements of each, the nearest are looked for; of fewer not.
MOST_COMPARED, _MOST_ELEMENTS, LEAST_COMPARED = 128, 256, 8
# So many samples that are evaluated are looked at first, and then each time that they are twice as
# many.
_FIRST_LOOK = 32
# Of more forms, as of texts of many lengths, none are kept.
_MOST_FORMS = 8
_NUM_IDS = 512

Array = npt.NDArray[np.generic]


def pairing(
    given: npt.NDArray[np.generic], target: npt.NDArray[np.generic]
) -> tuple[float, float, float]:
    """Return how many samples have the label of the nearest other one, of how many, and by chance.

    Where labels belong to their samples, they are more often alike than by chance (Cover and Hart:
    Nearest neighbor pattern classification, 1967), whatever a model makes of them.

    Args:
        given: Numbers, shape ``[samples, ...]``; each element is scaled by its deviation.
        target: Classes as integers, or 0 and 1, shape ``[samples]`` or with an axis of one element;
            or one of ``[samples, classes]`` elements is 1.

    Returns:
        Three counts; nan where targets are no such classes, or all of one, and for fewer than 8
        samples.
    """
    nothing = math.nan, math.nan, math.nan
    if given.dtype.kind != "f" or given.ndim < 2 or len(given) != len(target):
        return nothing
    rows = _rows(given).astype(np.float64)
    labels = target[:MOST_COMPARED].reshape(len(rows), -1)
    if labels.shape[1] > 1 and ((labels == 0) | (labels == 1)).all() and (labels.sum(1) == 1).all():
        labels = labels.argmax(1)[:, None]
    classes, numbers = np.unique(labels, return_inverse=True)
    is_whole = labels.dtype.kind in "iub" or bool(np.isin(classes, (0, 1)).all())
    is_few = 1 < len(classes) <= len(rows) // 2
    if not (labels.shape[1] == 1 and is_whole and is_few) or len(rows) < LEAST_COMPARED:
        return nothing
    if not np.isfinite(rows).all():
        return nothing
    numbers = numbers.ravel()
    alike = numbers[_nearest(_scaled(rows))] == numbers
    counts = np.bincount(numbers)
    by_chance = (counts * (counts - 1)).sum() / (len(rows) - 1)
    return float(alike.sum()), float(len(rows)), float(by_chance)


class NearestSamples:
    """Compares samples that are evaluated with those that are trained on.

    Where both are drawn alike, the nearest other sample of one is as often of either kind
    (Schilling: Multivariate two-sample tests based on nearest neighbors, 1986). Ids of another
    vocabulary, another scale, or axes and columns in another order set them apart.
    """

    def __init__(self) -> None:
        # Of what was given under a name, by its form: different samples, by their bytes.
        self._trained: dict[tuple[str, str], dict[bytes, Array]] = {}
        self._evaluated: dict[tuple[str, str], dict[bytes, Array]] = {}
        self._next_look: dict[tuple[str, str], int] = {}

    def add(self, mode: Mode, name: str, batch: Array) -> Mapping[str, float]:
        """Add samples.

        Args:
            mode: What is done with them.
            name: Of the input.
            batch: Shape ``[samples, ...]``.

        Returns:
            Where there are enough of them, twice as many as the last time: of how many evaluated
            samples the nearest is an evaluated one, and how many of each kind were compared, by
            the names of what is stored.
        """
        if batch.ndim < 2 or batch.dtype.kind not in "fiub" or not batch.size:
            return {}
        key = name, f"{batch.dtype.name}{batch.shape[1:]}"
        known = self._trained if mode is Mode.TRAIN else self._evaluated
        if key not in known and len(known) == _MOST_FORMS:
            return {}
        kept = known.setdefault(key, {})
        if len(kept) < MOST_COMPARED:
            for row in _rows(batch):
                if len(kept) < MOST_COMPARED:
                    kept.setdefault(row.tobytes(), row.copy())
        trained = self._trained.get(key, {})
        number = min(len(trained), len(kept))
        if mode is Mode.TRAIN or number < self._next_look.get(key, _FIRST_LOOK):
            return {}
        self._next_look[key] = 2 * number
        both = [np.array(list(one.values()))[:number] for one in (trained, kept)]
        rows = np.concatenate(both)
        if not np.isfinite(rows).all():
            return {}
        is_ids = batch.dtype.kind == "i" and batch.ndim == 2
        nearest = _nearest(_tf_idf(rows) if is_ids else _scaled(rows.astype(np.float64)))
        own = float((nearest[number:] >= number).sum())
        rest = f"/{name}" if name else ""
        return {f"evaluation/nearest_own{rest}": own, f"evaluation/nearest_of{rest}": float(number)}


def _rows(batch: Array) -> Array:
    """Return the first samples, some elements of each, shape ``[samples, elements]``."""
    rows = batch[:MOST_COMPARED].reshape(min(len(batch), MOST_COMPARED), -1)
    return rows[:, :: -(-rows.shape[1] // _MOST_ELEMENTS)]


def _scaled(rows: Floats) -> Floats:
    """Return elements as multiples of their standard deviations."""
    deviations = rows.std(0)
    return rows / np.where(deviations > 0, deviations, 1)


def _tf_idf(ids: Array) -> Floats:
    """Return which ids a sample has, each by how rare it is (tf-idf), at unit length."""
    places = ids % _NUM_IDS
    has = np.zeros((len(ids), _NUM_IDS))
    np.put_along_axis(has, places.astype(np.int64), 1.0, 1)
    has *= np.log(len(ids) / np.maximum(has.sum(0), 1))
    length = np.sqrt((has**2).sum(1, keepdims=True))
    return has / np.where(length > 0, length, 1)


def _nearest(rows: Floats) -> npt.NDArray[np.intp]:
    """Return the place of the nearest other row of each, by Euclidean distance."""
    squares = (rows**2).sum(1)
    distances = squares[:, None] + squares - 2 * rows @ rows.T
    np.fill_diagonal(distances, np.inf)
    places: npt.NDArray[np.intp] = distances.argmin(1)
    return places
