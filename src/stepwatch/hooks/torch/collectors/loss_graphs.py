"""Mistakes that the graph of a loss shows: what is normalized, compared, or added up in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch

from ....numerics.measures import number
from ..autograd import (
    accumulations,
    min_max_of_masked,
    norms_over_first,
    sines_of_sines,
    softmaxes_of_one,
    softmaxes_over_first,
)
from ..contrasts import contrasts, cosine_logits, is_unpaired, is_with_itself
from ..internals import isolated_compute
from ..tensors import to_numpy
from ..torn_classes import torn_classes
from .variables import are_flags, columns, crossed_rows

# The losses of a GAN are several, and each of the first may be that of another model.
_MOST_GRAPHS = 4
# Of fewer contrasts nothing is said.
_LEAST_CONTRASTS = 2
# Logits cannot tell classes apart if of the cross-entropy of a guess so much is left at best.
_MOST_SHARE = 0.5
# By so many rows it is known how far angles spread.
_MOST_ROWS = 1024
#: Times of so many rows tell an order.
_LEAST_TIMES = 16


class LossGraphs:
    """Looks through the graphs of losses before gradients are computed.

    Attributes:
        found: What was found, as numbers of the collection ``setup``.
    """

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self._num_looked = 0
        # Of contrasts, whether both vectors of each pair were the same, and whether pairs were of
        # different samples.
        self._views: list[bool] = []
        self._unpaired: list[bool] = []

    @property
    def is_done(self) -> bool:
        """Whether as many losses as tell were looked at: models keep the way they are called."""
        return self._num_looked >= _MOST_GRAPHS

    def forget(self) -> None:
        """Other models train from here on."""
        self.found, self._num_looked = {}, 0

    def look(
        self,
        loss: torch.Tensor,
        given: torch.Tensor | None,
        num_samples: int,
        names: Mapping[int, str],
        model: str,
    ) -> None:
        """Look through the graph of a loss.

        Args:
            loss: Of which no gradients were computed yet.
            given: What its model was given first, if that is known.
            num_samples: How many samples that is; 0 if it is not known.
            names: Of the parameters, by ``id``.
            model: The name of the model.
        """
        self._num_looked += 1
        found = self.found
        if num_samples > 1:
            over_first = softmaxes_over_first(loss, num_samples, names)
            found.update((f"setup/over_samples/{one}", 1.0) for one in over_first)
        found.update((f"setup/crossed_rows/{one}>{other}", 1.0) for one, other in crossed_rows())
        ones = softmaxes_of_one(loss, names)
        found.update((f"setup/one_unit/{one}", 1.0) for one in ones)
        with isolated_compute(loss.device.type):
            cosines = list(cosine_logits(loss))
            for contrast in contrasts(loss):
                for known, found_there in (
                    (self._views, is_with_itself(contrast)),
                    (self._unpaired, is_unpaired(contrast, given)),
                ):
                    known += [] if found_there is None else [found_there]
            extremes = list(min_max_of_masked(loss))
            norms = list(norms_over_first(loss, num_samples)) if num_samples else []
            torn = list(torn_classes(loss))
            for layer, angles in sines_of_sines(loss, names):
                found.setdefault(f"setup/sine_spread/{layer}", _spread(angles))
        found.update((f"setup/over_samples/{one}", 1.0) for one in norms)
        found.update((f"setup/masked_extreme/{one}", 1.0) for one in extremes)
        for one in torn:
            sizes = ", ".join(map(str, one.shape[1:]))
            found[f"setup/torn_classes/{one.softmax}>{sizes}"] = float(one.shape[1])
        for logits in cosines:
            if (share := least_share(*logits)) >= _MOST_SHARE:
                found[f"setup/temperature/{logits.num_classes}>{number(logits.scale)}"] = share
        for what, known in (("same_views", self._views), ("unpaired", self._unpaired)):
            if len(known) >= _LEAST_CONTRASTS and all(known):
                found[f"setup/{what}/{model}"] = 1.0
        found.update((f"setup/risk_set/{one}", 1.0) for one in _wrong_risk_sets(loss))


def _spread(angles: torch.Tensor) -> float:
    """Return how far what each unit is given is from its mean over the samples.

    Args:
        angles: Shape ``[..., units]``, in radians.

    Returns:
        The root mean square; nan where one is not finite.
    """
    rows = angles.reshape(-1, angles.shape[-1]) if angles.dim() > 1 else angles.reshape(-1, 1)
    rows = rows[:: -(-len(rows) // _MOST_ROWS) or 1].double()
    return float(rows.var(0, correction=0).mean().sqrt())


def least_share(scale: float, num_classes: int) -> float:
    """Return the least cross-entropy by logits between -scale and scale, as a share of a guess's.

    Example:
        >>> f"{least_share(0.07, 128):.2f}", f"{least_share(1 / 0.07, 128):.2f}"
        ('0.97', '0.00')
    """
    guess = math.log(num_classes) if num_classes > 1 else math.inf
    return math.log1p((num_classes - 1) * math.exp(-2 * scale)) / guess


def _wrong_risk_sets(loss: torch.Tensor) -> Iterator[str]:
    """Yield what a script calls times by which a loss adds up those that are over.

    The likelihood of Cox (Regression models and life-tables, 1972) compares each event with those
    who were at risk then, whose times are as long or longer. Times are what rises in the order of
    the sum; beside them are zeros and ones, which say whose event was seen.
    """
    for sum_ in accumulations(loss):
        if sum_.size < _LEAST_TIMES:
            continue
        with isolated_compute("cpu"):
            rows = np.arange(sum_.size)
            order = rows if sum_.order is None else to_numpy(sum_.order).reshape(-1)
            if not np.array_equal(np.sort(order), rows):
                continue  # only some of them are added up, or some of them twice
            known = list(columns(sum_.size))
            has_events = any(
                are_flags(column) and 0 < column.sum() < sum_.size for _, column in known
            )
            for name, column in known if has_events else ():
                if not column.is_floating_point():
                    continue
                times = to_numpy(column)[order]
                steps = np.diff(times[::-1] if sum_.is_reversed else times)
                if (steps >= 0).all() and np.count_nonzero(steps > 0) > sum_.size / 4:
                    yield name
                    return
