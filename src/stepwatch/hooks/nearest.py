"""What the nearest samples tell of the data that a model is given.

Whether labels belong to their samples, whether samples that are evaluated are like those that are
trained on, and how well these tell the labels of those, whatever a model makes of them.
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
        #: Compares their labels.
        self.labels = NearestLabels()

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
        nearest = _nearest(_comparable(rows, batch))
        own = float((nearest[number:] >= number).sum())
        rest = f"/{name}" if name else ""
        return {f"evaluation/nearest_own{rest}": own, f"evaluation/nearest_of{rest}": float(number)}


class NearestLabels:
    """Compares what a model predicts with the label of the nearest sample that is trained on.

    That is the least that can be told of other samples by so few (Cover and Hart: Nearest neighbor
    pattern classification, 1967).
    """

    def __init__(self) -> None:
        # By the loss and the form of samples and labels: both, by the bytes of the sample.
        self._trained: dict[tuple[str, str], dict[bytes, tuple[Array, Array]]] = {}

    def add(
        self, mode: Mode, loss: str, batch: Array, labels: Array, predictions: Array
    ) -> Mapping[str, float]:
        """Add samples of which a loss was computed.

        Args:
            mode: What is done with them.
            loss: Its name.
            batch: Shape ``[samples, ...]``.
            labels: Classes as integers, shape ``[samples]``, or numbers, ``[samples, numbers]``.
            predictions: Of the model, of the same shape and kind.

        Returns:
            Of samples that are evaluated and that were not among those that are kept: how many
            there are, how far the predictions are off in all, and how far the labels of the nearest
            trained samples: so many classes are wrong, and so many if each class had as many
            trained samples; or the sum of squares, then that of the mean of their labels as well.
        """
        rows = _rows(batch) if batch.ndim > 1 and batch.dtype.kind in "fiub" else batch[:0]
        number = len(rows)
        if not number or not number <= len(labels) == len(predictions):
            return {}
        labels, predictions = labels[:number], predictions[:number]
        form = f"{batch.dtype.name}{batch.shape[1:]}{labels.dtype.kind}{labels.shape[1:]}"
        if (loss, form) not in self._trained and len(self._trained) == _MOST_FORMS:
            return {}
        kept = self._trained.setdefault((loss, form), {})
        if mode is Mode.TRAIN:
            for row, label in zip(rows, labels, strict=True):
                if len(kept) == MOST_COMPARED:
                    break
                kept.setdefault(row.tobytes(), (row.copy(), label))
            return {}
        others = np.array([row.tobytes() not in kept for row in rows])
        if mode is not Mode.EVAL or len(kept) < _FIRST_LOOK or not others.any():
            return {}
        trained, known = (np.array(one) for one in zip(*kept.values(), strict=True))
        both = np.concatenate([trained, rows[others]])
        numbers = (labels[others], predictions[others], known)
        if not all(np.isfinite(one).all() for one in (both, *numbers)):
            return {}
        distances = _distances(_comparable(both, batch))
        nearest = known[distances[len(trained) :, : len(trained)].argmin(1)]
        meant, guessed = labels[others], predictions[others]
        found = {f"evaluation/compared/{loss}": float(len(meant))}
        if labels.dtype.kind == "i":
            classes, counts = np.unique(known, return_counts=True)
            share = len(known) / len(classes) / counts
            place = np.minimum(np.searchsorted(classes, meant), len(classes) - 1)
            weight = np.where(classes[place] == meant, share[place], 0.0)
            for name, one in (("", guessed), ("nearest_", nearest)):
                found[f"evaluation/{name}wrong/{loss}"] = float((one != meant).sum())
                found[f"evaluation/{name}balanced_wrong/{loss}"] = float(weight @ (one != meant))
        else:
            mean = known.mean(0, np.float64)
            for name, one in (("", guessed), ("nearest_", nearest), ("mean_", mean)):
                off = np.square(np.subtract(one, meant, dtype=np.float64))
                found[f"evaluation/{name}squares/{loss}"] = float(off.sum())
        return found


def _rows(batch: Array) -> Array:
    """Return the first samples, some elements of each, shape ``[samples, elements]``."""
    rows = batch[:MOST_COMPARED].reshape(min(len(batch), MOST_COMPARED), -1)
    return rows[:, :: -(-rows.shape[1] // _MOST_ELEMENTS)]


def _comparable(rows: Array, batch: Array) -> Floats:
    """Return rows as numbers whose distances tell: of ids which ones they have, others scaled.

    Args:
        rows: Shape ``[samples, elements]``,
        batch: and one that some of them were taken from.
    """
    is_ids = batch.dtype.kind == "i" and batch.ndim == 2
    return _tf_idf(rows) if is_ids else _scaled(rows.astype(np.float64))


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
    distances = _distances(rows)
    np.fill_diagonal(distances, np.inf)
    places: npt.NDArray[np.intp] = distances.argmin(1)
    return places


def _distances(rows: Floats) -> Floats:
    """Return the squares of the Euclidean distances of all pairs of rows."""
    squares = (rows**2).sum(1)
    distances: Floats = squares[:, None] + squares - 2 * rows @ rows.T
    return distances
