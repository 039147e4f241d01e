"""Padding among tokens, by the tokens alone, and whether targets of it count."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .losses import CROSS_ENTROPY, OF_PROBABILITIES, Array, LossCall, label_classes, mean_loss

#: Padding is what so many rows end, or begin, in, and stands nowhere else but in this share.
_MOST_ROWS_PAD, _ELSEWHERE = 0.5, 0.01
#: So many targets are told apart; of those that count so many are of padding.
_LEAST_TARGETS, _OF_PADDING = 50, 0.5
#: Where others have the class of padding, too, so many are of it.
_MOSTLY_PADDING = 0.8
#: Of so many padded samples it is told that none ends; so many targets are the next tokens, and no
#: token ends so many samples.
_LEAST_PADDED, _LEAST_POSITIONS, _ARE_NEXT, _ONE_END = 16, 4, 0.95, 0.5
#: At so many looks, of so many texts, the ends are ignored, of two tokens or more; of so few others
#: nothing is. What is no padding is text where so many texts of a step are padded.
_LEAST_LOOKS, _LEAST_TEXTS, _LEAST_END, _MOST_WHOLE = 3, 8, 2, 0.1
_MOST_LOOKS, _ARE_PADDED = 8, 0.25
# A loss is the mean over all of its targets within this fraction.
_OF_ALL = 1e-3
# What Keras takes for the least probability.
_LEAST_PROBABILITY = 1e-7

Tokens = npt.NDArray[np.generic]
Flags = npt.NDArray[np.bool_]


def pads_targets(
    tokens: Tokens,
    classes: Tokens,
    counted: Flags,
    mask: Tokens | None = None,
) -> bool:
    """Return whether half of the targets that count are of padding, all of one class.

    Nothing else has this class, or the model is told by a mask what padding is; or padding is four
    fifths of them.

    Args:
        tokens: Shape ``[samples, positions]``, of whole numbers.
        classes: The target of each, of the same shape,
        counted: and whether it counts.
        mask: What the model is given for each, of the same shape, if it is given a mask.

    Example:
        >>> rows = np.array([[5, 3, *[0] * 8], [7, 4, *[0] * 8]] * 9)
        >>> tags, counts = np.where(rows, rows % 3 + 1, 0), np.ones(rows.shape, bool)
        >>> pads_targets(rows, tags, counts), pads_targets(rows, tags, rows > 0)
        (True, False)
        >>> some = slice(None, 6)
        >>> pads_targets(rows[:, some], tags[:, some] % 2, counts[:, some])
        False
        >>> pads_targets(rows, tags % 2, counts), pads_targets(rows, tags % 2, counts, rows > 0)
        (True, True)
    """
    if tokens.ndim != 2 or counted.sum() < _LEAST_TARGETS or (tokens != np.rint(tokens)).any():
        return False
    return any(
        _are_of_padding(is_padding & counted, ~is_padding & counted, classes, mask)
        for is_padding in (_run_at_end(tokens), _run_at_end(tokens[:, ::-1])[:, ::-1])
    )


def leaves_ends_out(tokens: Tokens, classes: Tokens, counted: Flags) -> bool:
    """Return whether the targets are the next tokens, and none is of what ends a sample.

    Then nobody learns where to stop: the last token of each sample, before its padding, has a
    target that does not count, and these tokens are no sign of an end themselves, for they vary.

    Args:
        tokens: Shape ``[samples, positions]``, of whole numbers.
        classes: The target of each, of the same shape,
        counted: and whether it counts.

    Example:
        >>> rows = np.array([[0, 1 + at % 7, 2 + at % 5, 0, 0] for at in range(40)])
        >>> nexts = np.concatenate([rows[:, 1:], rows[:, :1]], 1)
        >>> place = np.arange(5)
        >>> leaves_ends_out(rows, nexts, np.broadcast_to(place < 2, rows.shape))
        True
        >>> leaves_ends_out(rows, nexts, np.broadcast_to(place < 3, rows.shape))
        False
    """
    if tokens.ndim != 2 or tokens.shape[1] < _LEAST_POSITIONS:
        return False
    _, run = _last_run(tokens)
    last = tokens.shape[1] - run.sum(1) - 1
    rows = np.flatnonzero((run.sum(1) > 0) & (last > 0))
    if (
        len(rows) < max(_LEAST_PADDED, _MOST_ROWS_PAD * len(tokens))
        or counted[rows, last[rows]].any()
    ):
        return False
    before = np.arange(tokens.shape[1] - 1) < last[rows, None]
    nexts = classes[rows, :-1] == tokens[rows, 1:]
    if not counted[rows, :-1][before].all() or nexts[before].mean() < _ARE_NEXT:
        return False
    _, often = np.unique(tokens[rows, last[rows]], return_counts=True)
    return bool(len(often) > 2 and often.max() < _ONE_END * len(rows))


class IgnoredEnds:
    """Whether the targets of next tokens cover the beginnings of texts and ignore their ends.

    As where a prompt stands before its answer, and the labels of the answer are the ones that are
    set to be ignored. Looked at are the texts of several steps.

    Example:
        >>> texts = np.random.default_rng(0).integers(1, 20, (9, 6))
        >>> place, nexts = np.arange(6), np.roll(texts, -1, 1)
        >>> prompts, answers = IgnoredEnds(), IgnoredEnds()
        >>> for _ in range(3):
        ...     prompts.add(texts, nexts, np.broadcast_to(place < 2, texts.shape), texts > 0)
        ...     answers.add(texts, nexts, np.broadcast_to(place >= 2, texts.shape), texts > 0)
        >>> prompts.is_found, answers.is_found
        (True, False)
    """

    def __init__(self) -> None:
        self.num_looks = 0
        self._is_other = self._is_padded = False
        self._num_whole = 0
        self._ends: Counter[bytes] = Counter()  # what is ignored of a text
        self._last: set[int] = set()  # tokens that count, and are the last of their text that do

    @property
    def is_suspected(self) -> bool:
        """Whether nothing speaks against it, by what was looked at."""
        return bool(self._ends) and not self._is_other

    @property
    def is_found(self) -> bool:
        """Whether it was so at several looks, of texts of which the ends vary."""
        num_texts = self._ends.total()
        if not self.is_suspected or self.num_looks < _LEAST_LOOKS or num_texts < _LEAST_TEXTS:
            return False
        # What comes after the sign of an end may be anything, where no padding tells what is text.
        is_text = self._is_padded or len(self._last) > 1
        are_most = self._num_whole <= _MOST_WHOLE * (self._num_whole + num_texts)
        return is_text and are_most and max(self._ends.values()) <= _ONE_END * num_texts

    def add(
        self, tokens: Tokens, classes: Tokens, counted: Flags, mask: Tokens | None = None
    ) -> None:
        """Look at the texts of a step.

        Args:
            tokens: Shape ``[samples, positions]``, of whole numbers.
            classes: The target of each, of the same shape,
            counted: and whether it counts.
            mask: What the model is given for each, of the same shape, if it is given a mask.
        """
        if self.num_looks >= _MOST_LOOKS:
            return
        self.num_looks += 1
        nexts, counts = tokens[:, 1:], counted[:, :-1]
        if not counts.any() or (classes[:, :-1] == nexts)[counts].mean() < _ARE_NEXT:
            self._is_other |= bool(counts.any())
            return
        is_text = _is_text(tokens, counted, mask)[:, 1:]
        self._is_padded |= bool((~is_text).any(1).mean() >= _ARE_PADDED)
        place = np.arange(nexts.shape[1])
        for row in np.flatnonzero(counts.any(1)):
            last = np.flatnonzero(counts[row])[-1]
            ignored = is_text[row] & ~counts[row]
            if ignored[: last + 1].any():
                self._is_other = True
                return
            end = nexts[row][ignored & (place > last)]
            if not len(end):
                self._num_whole += 1
            elif len(end) < _LEAST_END or (end == end[0]).all():
                self._is_other = True
                return
            else:
                self._ends[end.tobytes()] += 1
                self._last.add(int(nexts[row, last]))


def _is_text(tokens: Tokens, counted: Flags, mask: Tokens | None) -> Flags:
    """Return which tokens are no padding: by a mask, or what no row begins or ends in several of.

    What counts is no padding, so that it tells which way round a mask is.
    """
    if mask is not None:
        values = np.unique(mask[:, 1:][counted[:, :-1]])
        if len(values) == 1:
            return np.asarray(mask == values[0])
    at_end, at_begin = (
        np.logical_and.accumulate(one == one[:, :1], axis=1) for one in (tokens[:, ::-1], tokens)
    )
    at_end = at_end[:, ::-1]
    for run in (at_end, at_begin):
        run &= run.sum(1, keepdims=True) > 1
    return ~(at_end | at_begin)


def counts_padding(
    call: LossCall, tokens: Array, prediction: Array, label: Array, loss: float
) -> bool:
    """Return whether a loss is the mean over all targets, and half of these are of padding.

    Args:
        call: Of which loss: a cross-entropy with a class for each token.
        tokens: Shape ``[samples, positions]``, of whole numbers.
        prediction: Arranged as the loss takes it, shape ``[samples, classes, positions]``,
        label: and the same of the target.
        loss: What it returned.
    """
    classes = label_classes(label, prediction.shape) if prediction.ndim == 3 else None
    if classes is None or classes.shape != tokens.shape:
        return False
    counted = (classes >= 0) & (classes < prediction.shape[1]) & (classes != call.ignore_class)
    if not counted.all() or not pads_targets(tokens, classes, counted):
        return False
    logits = prediction.astype(np.float64)
    if call.function == OF_PROBABILITIES:
        logits = np.log(np.clip(logits, _LEAST_PROBABILITY, 1))
    mean = mean_loss(replace(call, function=CROSS_ENTROPY), logits, label)
    return math.isclose(mean, loss, rel_tol=_OF_ALL)


def _run_at_end(tokens: Tokens) -> Flags:
    """Return where rows have nothing more but one token, that in which most end.

    Nowhere, if they do not, or if it stands elsewhere, too.
    """
    is_it, run = _last_run(tokens)
    is_elsewhere = (is_it & ~run).sum() > _ELSEWHERE * (~run).sum()
    return run & (not is_elsewhere and run[:, -1].mean() >= _MOST_ROWS_PAD)


def _last_run(tokens: Tokens) -> tuple[Flags, Flags]:
    """Return where the token stands in which most rows end, and where they have nothing more."""
    last, counts = np.unique(tokens[:, -1], return_counts=True)
    is_it = tokens == last[counts.argmax()]
    return is_it, np.logical_and.accumulate(is_it[:, ::-1], axis=1)[:, ::-1]


def _are_of_padding(padding: Flags, others: Flags, classes: Tokens, mask: Tokens | None) -> bool:
    of_padding, of_others = classes[padding], classes[others]
    if len(of_padding) < max(_OF_PADDING * (len(of_padding) + len(of_others)), 1):
        return False
    if not (of_padding == of_padding[0]).all() or len(np.unique(of_others)) < 2:
        return False
    is_told = mask is not None and not np.isin(mask[padding], mask[others]).any()
    is_most = len(of_padding) >= _MOSTLY_PADDING * (len(of_padding) + len(of_others))
    return bool(is_told or is_most or (of_others == of_padding[0]).mean() <= _ELSEWHERE)
