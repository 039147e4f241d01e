"""How often each class was taken for which, and what may be concluded from that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..numerics.measures import Floats
from .classes import added

#: So many standard errors tell a loss from another, and bound an agreement.
TELLING = 2.0


def entropy(counts: Floats) -> float:
    """Return the entropy of class frequencies in nats: the loss of guessing by frequency.

    Args:
        counts: Shape ``[classes]``, at least 0.

    Returns:
        From 0 to ``log(classes)`` (Shannon: A mathematical theory of communication, 1948); 0
        where nothing was counted.
    """
    total = counts.sum()
    shares = counts[counts > 0] / total if total else counts[:0]
    return float(-(shares * np.log(shares)).sum())


def estimated_entropy(counts: Floats) -> float:
    """Return the entropy of classes of which so many labels were drawn, in nats.

    That of their frequencies alone is too low by about (classes - 1) / (2 labels), as few labels
    look less even than they are (Miller: Note on the bias of information estimates, 1955).
    """
    num_classes, total = np.count_nonzero(counts), float(counts.sum())
    return entropy(counts) + ((num_classes - 1) / (2 * total) if total else 0.0)


def agreement_z(confusion: Floats) -> float:
    """Return how many standard deviations more guesses are right than by chance.

    Args:
        confusion: Shape ``[classes, classes]``, how often each class was taken for which.

    Returns:
        Of the number of agreements under independence of its margins (Cohen: A coefficient of
        agreement for nominal scales, 1960), normal approximation; nan where nothing was counted,
        0 where there is one class or one guess only.
    """
    total = confusion.sum()
    if not total:
        return math.nan
    agreeing, expected = _agreement(confusion)
    spread = math.sqrt(total * expected * (1 - expected)) if 0 < expected < 1 else math.inf
    return float(total * (agreeing - expected) / spread)


def _agreement(confusion: Floats) -> tuple[float, float]:
    """Return the share of guesses that are right, and that expected by chance from the margins."""
    total = confusion.sum()
    expected = (confusion.sum(0) * confusion.sum(1)).sum() / total**2
    return float(np.trace(confusion) / total), float(expected)


def entropy_variance(counts: Floats) -> float:
    """Return the variance of ``entropy``, as an estimate of so many labels; nan of none."""
    total = counts.sum()
    if not total:
        return math.nan
    shares = counts[counts > 0] / total
    surprise = -np.log(shares)
    mean = float((shares * surprise).sum())
    return float(((shares * surprise**2).sum() - mean**2) / total)


def edge_bound(confusion: Floats, num_labels: float) -> float:
    """Return how far guesses may agree with labels beyond chance, as a part of what it leaves.

    Args:
        confusion: Shape ``[classes, classes]``, how often each class was taken for which.
        num_labels: How many different labels were counted.

    Returns:
        Cohen's kappa, at least 0, and ``TELLING`` of its standard errors; infinity where nothing
        is known.
    """
    agreeing, expected = _agreement(confusion) if confusion.sum() else (0.0, 1.0)
    if not num_labels or expected >= 1:
        return math.inf
    kappa = (agreeing - expected) / (1 - expected)
    # Below 0 is chance, too: it does not make up for labels that are few.
    return max(kappa, 0.0) + TELLING * math.sqrt(expected / (1 - expected) / num_labels)


#: So large a share of a class is taken for one other, and so little of it for itself, where classes
#: have other numbers; so do so many of all. A class with so much less of the labels than its even
#: share says nothing, and guesses agree like this by chance less often than e ** -12.
TAKEN_FOR, STAYED, LEAST_MOVED, LEAST_SHARE, SURE = 0.7, 0.1, 0.5, 0.3, 12.0


def renumbered(confusion: Floats) -> dict[int, int]:
    """Return which class is taken for which, where classes have other numbers than those learned.

    Args:
        confusion: Shape ``[classes, classes]``, how often each class was taken for which.

    Returns:
        Empty where the classes with enough labels are not taken for others one to one, fewer than
        half of the labels are, or it may be chance.

    Example:
        >>> renumbered(np.array([[1.0, 19, 0], [0, 0, 20], [20, 0, 0]]))
        {0: 1, 1: 2, 2: 0}
        >>> renumbered(np.array([[1.0, 19, 0], [0, 20, 0], [0, 0, 20]]))
        {}
    """
    counts = confusion.sum(1)
    judged = np.flatnonzero(counts > LEAST_SHARE * counts.sum() / max(1, np.count_nonzero(counts)))
    taken = confusion[judged].argmax(axis=1)
    if len(set(taken.tolist())) < len(judged) or len(judged) < 2:
        return {}
    agreeing, total = float(confusion[judged, taken].sum()), float(counts[judged].sum())
    if (2 * agreeing - total - len(judged)) * math.log(len(judged)) < SURE:
        return {}
    share = confusion[judged, taken] / counts[judged]
    stayed = confusion[judged, judged] / counts[judged]
    moved = taken != judged
    if not (share >= TAKEN_FOR).all() or not (stayed[moved] <= STAYED).all():
        return {}
    if counts[judged[moved]].sum() < LEAST_MOVED * counts.sum() or not moved.any():
        return {}
    return dict(zip(judged[moved].tolist(), taken[moved].tolist(), strict=True))


def all_counts(confusions: Iterable[Floats]) -> Floats:
    """Return the sum of counts, of as many classes as the largest has."""
    return added([one.astype(np.int64) for one in confusions]).astype(np.float64)


def are_halves(confusions: Sequence[Floats]) -> bool:
    """Return whether each step has as many samples of one class as of the other, or one class."""
    shares = {float(counted[1].sum() / counted.sum()) for counted in confusions if counted.sum()}
    return shares <= {0.0, 0.5, 1.0}
