"""Objectives that a script brings along: whether their derivatives are those of a loss."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...numerics.measures import Floats

Array = npt.NDArray[np.generic]
#: At most so many rounds are compared, and nothing is said of fewer.
_MOST_ROUNDS, _LEAST_ROUNDS = 12, 5
# Labels are found up to this of margins and derivatives, which may be float32.
_EXACT = 1e-3


#: Objectives whose margins are the logarithms of what is predicted, by how they end.
OF_LOGARITHMS = ("poisson", "gamma", "tweedie")
# Of fewer rows nothing is said, nor where two ways are this near, as logarithms of likelihoods.
_LEAST_ROWS, _LEAST_GAIN = 50, 10.0


def likelier_as_exposures(offsets: Array, labels: Array) -> float:
    """Return how much likelier counts are by what rows begin with as exposures than as logarithms.

    Args:
        offsets: What the margin of each row begins with, shape ``[rows]``.
        labels: Numbers of 0 or more, shape ``[rows]``.

    Returns:
        The difference of the logarithms of both likelihoods, Poisson's, each with the best rate; 0
        where offsets may be logarithms.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> years = rng.uniform(1, 30, 500)
        >>> claims = rng.poisson(0.1 * years)
        >>> likelier_as_exposures(years, claims) > 100
        True
        >>> likelier_as_exposures(np.log(years), claims)
        0.0
    """
    given, counts = offsets.astype(np.float64), labels.astype(np.float64)
    if given.shape != counts.shape or len(counts) < _LEAST_ROWS or not (given > 0).all():
        return 0.0
    if not (counts >= 0).all() or not counts.any() or np.ptp(given) == 0:
        return 0.0

    def likelihood(logarithms: Floats) -> float:
        # By the best rate all expected counts add up to those that there are.
        most = logarithms.max()
        total = most + math.log(float(np.exp(logarithms - most).sum()))
        return float((counts * (logarithms - total)).sum())

    gain = likelihood(np.log(given)) - likelihood(given)
    return gain if gain > _LEAST_GAIN else 0.0


class ObjectiveListener(Protocol):
    """Is notified of what an objective of the script returned."""

    def note_objective(self, booster: Any, margins: Any, found: Any) -> None: ...


def with_objectives(
    original: Callable[..., Any], listeners: list[ObjectiveListener]
) -> Callable[..., Any]:
    """Return what is called in the place of ``Booster.update``, of XGBoost or LightGBM."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def update(booster: Any, *args: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(booster, *args, **named)
        except TypeError:  # as ``original`` itself says
            return original(booster, *args, **named)
        objective = bound.arguments.get("fobj")
        if objective is not None:

            @functools.wraps(objective)
            def noted(margins: Any, data: Any) -> Any:
                found = objective(margins, data)
                for listener in tuple(listeners):
                    listener.note_objective(booster, margins, found)
                return found

            bound.arguments["fobj"] = noted
        return original(*bound.args, **bound.kwargs)

    return update


def takes_margins_for_probabilities(
    margins: Array, gradients: Array, hessians: Array
) -> bool | None:
    """Return whether an objective takes raw margins for probabilities; ``None`` if unknown.

    With a label y, 0 or 1, the derivatives of the logistic loss by the margin are w (p - y) and
    w p (1 - p), where p is the sigmoid of the margin. An objective that forgets the sigmoid returns
    them with the margin m in the place of p: then m - m (1 - m) * gradient / hessian is y.

    Args:
        margins: What it was given,
        gradients: and what it returned, one for each row.
        hessians: The same.

    Example:
        >>> margins, labels = np.array([0.5, 0.2, -0.1]), np.array([1, 0, 1])
        >>> hessians = margins * (1 - margins)
        >>> takes_margins_for_probabilities(margins, margins - labels, hessians)
        True
        >>> chances = 1 / (1 + np.exp(-margins))
        >>> hessians = chances * (1 - chances)
        >>> takes_margins_for_probabilities(margins, chances - labels, hessians)
        False
    """
    m, g, h = (np.asarray(one, np.float64).reshape(-1) for one in (margins, gradients, hessians))
    if not m.size == g.size == h.size:
        return None
    m, g, h = (one[(m > 0.02) & (m < 0.98)] for one in (m, g, h))  # others may have been clipped
    if not m.size:
        return None
    if not (h > 0).all():
        return False
    labels = m - m * (1 - m) * g / h
    return bool((np.minimum(np.abs(labels), np.abs(labels - 1)) < _EXACT).all())


class Objective:
    """What an objective of the script returns from round to round.

    Of a convex loss gradients rise with margins, row by row: the curvature is 1. It is -1 where
    they have the wrong sign, and boosting goes uphill.
    """

    def __init__(self) -> None:
        self._num_rounds = 0
        self._last: tuple[Floats, Floats] | None = None
        self._shares: list[float] = []
        self._of_probabilities: list[bool] = []

    @property
    def is_open(self) -> bool:
        """Whether another round is wanted."""
        return self._num_rounds <= _MOST_ROUNDS

    def add(self, margins: Array, gradients: Array, hessians: Array) -> None:
        """Add what an objective was given and returned in a round, of the same size each."""
        self._num_rounds += 1
        m, g = (np.array(one, np.float64).reshape(-1) for one in (margins, gradients))
        found = takes_margins_for_probabilities(m, g, hessians)
        if found is not None:
            self._of_probabilities.append(found)
        last, self._last = self._last, (m, g)
        if last is None or not last[0].size == m.size == g.size:
            return
        with np.errstate(all="ignore"):
            changes = (m - last[0]) * (g - last[1])
            share = float(changes.sum() / np.abs(changes).sum())
        if np.isfinite(share):
            self._shares.append(share)

    def known(self) -> dict[str, float]:
        """Return what is known after some rounds; nothing after few.

        Returns:
            ``curvature``: what rises less what falls, of all changes, from -1 to 1: the median over
            rounds, of how each row's gradient and margin changed, multiplied. ``of_probabilities``:
            1 where each round that tells took margins for probabilities, else 0.
        """
        if self._num_rounds < _LEAST_ROUNDS:
            return {}
        known = {}
        if len(self._shares) >= _LEAST_ROUNDS:
            known["curvature"] = float(np.median(self._shares))
        if self._of_probabilities:
            known["of_probabilities"] = float(all(self._of_probabilities))
        return known
