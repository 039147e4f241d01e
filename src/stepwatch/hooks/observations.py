"""From tensors of frameworks that trace to rows of the open step.

On the CPU tensors are read where they lie, in one pass of the kernel; those that are observed
inside of a graph may leave it as they are. On an accelerator the statistics are computed there,
inside of the graph if there is one, and come to the host together.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..capture.open_step import OpenStep
from ..capture.plan import NOTHING, STATISTICS
from ..capture.recorder import Recorder
from ..model.record import TensorInfo
from ..model.steps import Mode
from ..numerics.measures import correlations, order_alike
from ..numerics.packed import Rows
from ..numerics.statistics import COUNT, Row

#: Where this package lies, with the slash at the end.
OURS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
#: Of the samples of a step at most so many are digested, and of each so many elements.
MOST_SAMPLES, MOST_SAMPLE_ELEMENTS = 256, 4096
#: Dropout of so much, or more, is what others call the share that is kept.
MOST_DROPPED = 0.8
#: Inputs that are equal for many samples: they tell nothing of which one it is.
NO_DATA = re.compile(r"mask|label|target|position|type|length", re.IGNORECASE)
#: What the elements of a summary of dependence are; -1 for what is not known. Shares are of squared
#: derivatives.
DEPENDENCE = (
    "others",  # share that belongs to other samples than the one of most
    "order",  # 1 where that one lies as in the batch, 0 where rows are time by time
    "future",  # share, of the sample's own, of later positions
    "gap",  # how many positions back the nearest earlier one lies that counts
    "same_0",  # share of targets that are the input at their own position,
    "same_1",  # one later,
    "same_2",  # two later,
    "turned",  # and one later where targets lie time by time
    "correlation",  # largest of a column of the input with the target; see ``correlation``
    "column",  # which one
    "together",  # of how many samples batch normalization takes the statistics
    "compared",  # with how many targets a written loss compares each prediction
    "as_time",  # 1 where a layer takes samples for steps of time, 0 where none does
    "aligned",  # of how many samples the target lies on the picture as they are,
    "flipped",  # and of how many where it is flipped or turned; see ``alignment``,
    "pictures",  # of how many pictures
    "neighbours",  # how pixels of a picture correlate with those beside them, as they are,
    "other_order",  # and where the axis of channels is read at its other place; see ``neighbours``
    "alike",  # how many samples have the label of the nearest other one,
    "paired",  # of how many,
    "by_chance",  # and how many would by chance; see ``nearest.pairing``
    "purity",  # share of tokens whose target is that of most others of the token; see ``purity``
    "purity_turned",  # and where targets lie time by time
)
#: Of fewer rows and columns a high correlation with the target is no surprise; in more columns it
#: is not looked for.
LEAST_ROWS, LEAST_COLUMNS, MOST_COLUMNS = 16, 4, 4096
#: Columns that correlate with their neighbours like this are a series. What comes next in it does
#: so, too, unless it is the last of them, to the last bit.
SERIES, EXACT = 0.8, 1 - 1e-9
# What neighbours leave of the variance of a place, if a series has noise.
_NOISE = 1e-6
# A target explains more of the variance of its picture than of those of others by this factor, all
# but this part of them, and this part of it in any other way to lie; so many others at least. Of
# more classes or elements, smaller pictures or fewer, it is not looked at.
_UNLIKE_OTHERS, _OF_OTHERS, _ELSEWHERE, _LEAST_EXPLAINED = 1.5, 0.9, 0.5, 0.02
_LEAST_PICTURES, _LEAST_OTHERS = 4, 8
# Colours and the like are so many channels; of fewer pairs of pixels a correlation is noise.
_CHANNELS, _LEAST_PAIRS = (2, 3, 4), 5000
# Signals have up to so many; which order is right is known where these differ so much more from
# each other in one of both.
_MOST_CHANNELS, _APART, _ALIKE = 16, 5.0, 1.5
_MOST_PICTURES, _MOST_CLASSES, _MOST_PIXELS, _LEAST_SIZE = 32, 16, 1 << 20, 8


def neighbours(given: npt.NDArray[np.generic]) -> tuple[float, float]:
    """Return how alike pixels side by side are in pictures, and in another order of their elements.

    The other order is that of pictures whose axis of channels lies at the other end. Were they
    reshaped where that axis was to be moved, they are pictures in that order only. The same of
    signals, where channels have little in common in one order, and much in the other: of channels
    that are like each other it is not known which order is right.

    Args:
        given: Shape ``[samples, height, width, channels]`` or ``[samples, channels, height,
            width]``, of 2 to 4 channels and at least 8 pixels each way; or signals, shape
            ``[samples, times, channels]`` or ``[samples, channels, times]``, of 2 to 16 channels
            and at least 4 times as many times.

    Returns:
        Pearson's coefficient of pixels of one channel side by side, and of those one above the
        other, whichever is less, and 0 at least; of both orders. Nan for what is no such picture,
        or of fewer than 5,000 pairs.
    """
    nothing = math.nan, math.nan
    if given.ndim == 3 and given.dtype.kind in "fiu":
        return _neighbours_in_time(given[:_MOST_PICTURES])
    if given.ndim != 4 or given.dtype.kind not in "fiu":
        return nothing
    pictures = given[:_MOST_PICTURES]
    samples, *sizes = pictures.shape
    is_last = sizes[2] in _CHANNELS
    if is_last == (sizes[0] in _CHANNELS) or pictures.size > _MOST_PIXELS:
        return nothing
    channels = sizes.pop(2 if is_last else 0)
    if min(sizes) < _LEAST_SIZE or pictures.size < _LEAST_PAIRS:
        return nothing
    last, first = ((samples, *sizes, channels), (samples, channels, *sizes))
    orders = [
        np.moveaxis(pictures.reshape(last), -1, 1).astype(np.float64),
        pictures.reshape(first).astype(np.float64),
    ]
    as_last, as_first = map(_likeness, orders)
    return (as_last, as_first) if is_last else (as_first, as_last)


def _neighbours_in_time(signals: npt.NDArray[np.generic]) -> tuple[float, float]:
    samples, *sizes = signals.shape
    channels, times = sorted(sizes)
    is_signal = 1 < channels <= _MOST_CHANNELS and times >= 4 * channels
    if not is_signal or not _LEAST_PAIRS <= signals.size <= _MOST_PIXELS:
        return math.nan, math.nan
    last, first = (samples, times, channels), (samples, channels, times)
    as_it_is, other = np.moveaxis(signals.reshape(last), -1, 1), signals.reshape(first)
    if sizes[0] == channels:
        as_it_is, other = other, as_it_is
    orders = [one.astype(np.float64) for one in (as_it_is, other)]
    spread, of_other = map(_spread_of_channels, orders)
    if of_other <= _APART * (1 + spread):
        return math.nan, math.nan
    # Where channels do lie last every so many elements another time begins; else all are alike.
    steps = np.diff(signals.reshape(samples, -1).astype(np.float64))[:, : (times - 1) * channels]
    by_place = np.median((steps**2).mean(0).reshape(times - 1, channels), 0)
    if sizes[1] == channels and by_place.max() > _ALIKE * by_place.min():
        return math.nan, math.nan
    return _likeness(orders[0]), _likeness(orders[1])


def _spread_of_channels(signals: npt.NDArray[np.float64]) -> float:
    """Return how much channels differ from each other, by means and scales, relative to chance."""
    means, scales = signals.mean(2), np.log(signals.std(2) + 1e-12)
    found = 0.0
    for one in (means, scales):
        by_chance = float(one.var(0).mean()) / len(one)
        found = max(found, float(one.mean(0).var()) / by_chance if by_chance > 0 else 0.0)
    return found


def _likeness(channels: npt.NDArray[np.float64]) -> float:
    """Return the least correlation of what lies side by side, along each axis after the channels.

    Args:
        channels: Shape ``[samples, channels, height, width]``, or ``[samples, channels, times]``.
    """
    axes = range(2, channels.ndim)
    centred = channels - channels.mean((0, *axes), keepdims=True)
    found = []
    for axis in reversed(axes):
        moved = np.moveaxis(centred, axis, -1)
        one, other = moved[..., 1:], moved[..., :-1]
        scale = math.sqrt(float((one**2).sum()) * float((other**2).sum()))
        found.append(float((one * other).sum()) / scale if scale > 0 else math.nan)
    return max(0.0, min(found)) if all(map(math.isfinite, found)) else math.nan


def is_noisy_series(places: npt.NDArray[np.float64], at: int) -> bool:
    """Return whether a place of a series has neighbours like it that do not tell what it is.

    Who trains a model to tell it has given it the answer: what is to come would not be one of the
    places. A series without noise, such as a sine, is known by its neighbours, and may repeat
    itself; and one whose places have nothing to do with each other may be one to remember.

    Args:
        places: Shape ``[rows, places]``.
        at: Which place; of the last nothing is said.
    """
    beside = [one for one in range(at - 3, at + 4) if one != at and 0 <= one < places.shape[1]]
    if at == places.shape[1] - 1 or len(places) < 2 * len(beside) or len(beside) < 2:
        return False
    near = [one for one in (at - 1, at + 1) if one in beside]
    if correlations(places[:, near], places[:, at]).max() <= SERIES:
        return False
    centred = places - places.mean(0)
    weights, *_ = np.linalg.lstsq(centred[:, beside], centred[:, at], rcond=None)
    left = centred[:, at] - centred[:, beside] @ weights
    return bool(left @ left > _NOISE * (centred[:, at] @ centred[:, at]))


def correlation(
    given: npt.NDArray[np.generic], target: npt.NDArray[np.generic]
) -> tuple[float, float]:
    """Return how the column of the input correlates with the target that does so most.

    Args:
        given: Features, shape ``[rows, columns]``, floating; of ``[rows, places, ...]`` the last
            place counts, as that of what comes next. To tell an earlier one is a task, unless it is
            one of a series with noise, to the last bit.
        target: A number for each row, floating. Of several, as of what comes next in a series, the
            first counts, if they are no more than half of the places: a series of as many is told
            for each place, and may be the input moved by one.

    Returns:
        Pearson's coefficient in magnitude, or 1 where the target puts the rows of a table in the
        very order of that column, as the logarithm of a price does; and the column. Both are nan
        for what is no such input, has fewer than 16 rows or 4 columns, or a target that does not
        vary, and where the input is a series and the target likely what comes next in it.
    """
    nothing = math.nan, math.nan
    numbers = given.dtype.kind == "f" and target.dtype.kind == "f" and given.ndim >= 2
    if not numbers or len(target) != len(given) or len(given) < LEAST_ROWS:
        return nothing
    targets = target.astype(np.float64).reshape(len(given), -1)
    has_one = targets.shape[1] == 1
    if not has_one and not 0 < 2 * targets.shape[1] <= given.shape[1]:
        return nothing
    x = given.reshape(len(given), -1).astype(np.float64)
    if not LEAST_COLUMNS <= x.shape[1] <= MOST_COLUMNS:
        return nothing
    y = targets[:, 0]
    found = correlations(x, y)
    place = x.shape[1] // given.shape[1]
    last = x.shape[1] - place
    best = int(found.argmax())
    if found[best] >= EXACT and is_noisy_series(x[:, best % place :: place], best // place):
        return float(found[best]), float(best)
    if given.ndim > 2:
        found[:last] = 0
    best = int(found.argmax())
    if not found[best] or not (has_one or found[best] >= EXACT):
        return nothing
    if given.ndim == 2 and order_alike(x[:, best], y):
        found[best] = 1.0
    if found[best] < EXACT or best < last:
        near = [one for one in (best - place, best + place) if 0 <= one < x.shape[1]]
        if near and correlations(x[:, near], x[:, best]).max() > SERIES:
            return nothing
    return float(found[best]), float(best)


def are_permuted(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether two shapes have the same sizes in another order; axes of one do not count.

    A reshape from one to the other keeps the elements in their order, and so puts elements of
    several positions into one: axes were to change places.

    Example:
        >>> are_permuted((2, 5, 3), (2, 3, 5)), are_permuted((2, 5, 1), (2, 1, 5))
        (True, False)
    """
    sizes, others = ([size for size in shape if size > 1] for shape in (before, after))
    return sizes != others and sorted(sizes) == sorted(others)


#: Of fewer tokens nothing is said of their purity.
LEAST_TOKENS = 64


def purity(given: npt.NDArray[np.generic], target: npt.NDArray[np.generic]) -> tuple[float, float]:
    """Return how purely tokens have one target each, in the order of targets and in the other.

    Args:
        given: Tokens, shape ``[batch, length]``; 0 is padding.
        target: As many integers; below 0 is left out by the loss.

    Returns:
        The share of tokens whose target is the most frequent one of the others of that token: the
        purity of clusters (Manning and others: Introduction to information retrieval, 2008), which
        is high for many small ones whatever the targets are, with each one left out in turn. With
        targets as they lie, and taken as ``[length, batch]``. Both nan for no such targets.

    Example:
        >>> given, target = np.arange(64).reshape(4, 16) % 5 + 1, np.arange(64) % 5
        >>> purity(given, target)[0]
        1.0
    """
    if given.dtype.kind not in "iu" or target.dtype.kind not in "iu" or given.ndim != 2:
        return math.nan, math.nan
    if target.size != given.size or 1 in given.shape or given.shape[0] == given.shape[1]:
        return math.nan, math.nan
    shares = []
    for ordered in (target.reshape(given.shape), target.reshape(given.shape[::-1]).T):
        counts = np.greater(given, 0) & np.greater_equal(ordered, 0)
        if counts.sum() < LEAST_TOKENS:
            return math.nan, math.nan
        tokens = np.unique(given[counts], return_inverse=True)[1].ravel()
        classes, numbers = np.unique(ordered[counts], return_inverse=True)
        pairs, times = np.unique(tokens * len(classes) + numbers.ravel(), return_counts=True)
        by_times = np.lexsort((times, pairs // len(classes)))
        owners, times = pairs[by_times] // len(classes), times[by_times]
        last = np.flatnonzero(np.diff(owners, append=-1))
        most, second = times[last], np.where(owners[last - 1] == owners[last], times[last - 1], 0)
        shares.append(float(most[most - 1 > second].sum() / counts.sum()))
    return shares[0], shares[1]


def alignment(
    given: npt.NDArray[np.generic], target: npt.NDArray[np.generic]
) -> tuple[float, float, float]:
    """Return of how many pictures the target lies as they do, and of how many flipped or turned.

    A mask tells more of the brightness of its own picture than of another, if it lies as that does.
    Where the two of a sample were flipped apart it does so flipped back. Pictures that look the
    same flipped, or of which the target tells no more than of others, are neither.

    Args:
        given: Pictures, shape ``[samples, channels, height, width]``, with the channels last, or
            without.
        target: Classes, as integers, or numbers, shape ``[samples, height, width]`` with or without
            an axis of one channel.

    Returns:
        Both counts, and of how many samples: at most 32. Nan for what is no such target.
    """
    nothing = math.nan, math.nan, math.nan
    shape = tuple(size for size in target.shape[1:] if size > 1)
    if target.ndim < 3 or len(shape) != 2 or min(shape) < _LEAST_SIZE or given.ndim not in (3, 4):
        return nothing
    pictures, masks = given[:_MOST_PICTURES], target[:_MOST_PICTURES].reshape(-1, *shape)
    if pictures.ndim == 3:
        pictures = pictures[:, None]
    elif pictures.shape[1:3] == shape != pictures.shape[2:]:
        pictures = np.moveaxis(pictures, -1, 1)
    is_wrong = pictures.shape[2:] != shape or pictures.size > _MOST_PIXELS
    if len(given) != len(target) or len(masks) < _LEAST_PICTURES or is_wrong:
        return nothing
    num_others = -(-_LEAST_OTHERS // len(pictures))  # that each is paired with
    own, *of_others = (
        np.array(
            [
                _explained(picture.astype(np.float64), mask)
                for picture, mask in zip(np.roll(pictures, roll, 0), masks, strict=True)
            ]
        )
        for roll in range(num_others + 1)
    )
    others = np.concatenate(of_others)
    least = max(_LEAST_EXPLAINED, _UNLIKE_OTHERS * np.quantile(others.max(1), _OF_OTHERS))
    here, elsewhere = own.T
    aligned = (here > least) & (elsewhere <= _ELSEWHERE * here)
    flipped = (elsewhere > least) & (here <= _ELSEWHERE * elsewhere)
    return float(aligned.sum()), float(flipped.sum()), float(len(masks))


def _explained(picture: npt.NDArray[np.float64], mask: npt.NDArray[Any]) -> tuple[float, float]:
    """Return which share of a channel's variance a mask explains, and at most flipped or turned."""
    centred = picture - picture.mean((1, 2), keepdims=True)
    classes = np.unique(mask) if mask.dtype.kind in "iub" else mask[:0, 0]
    if len(classes) > _MOST_CLASSES:
        return 0.0, 0.0
    parts = [mask == one for one in classes] or [mask - mask.mean()]
    total = (centred**2).sum((1, 2))

    def share(turned: npt.NDArray[np.float64]) -> float:
        explained = sum(
            (turned * part).sum((1, 2)) ** 2 / size
            for part in parts
            if (size := float((part.astype(np.float64) ** 2).sum()))
        )
        return float(np.max(explained / np.where(total > 0, total, np.inf)))

    ways = [centred[:, ::down, ::across] for down in (1, -1) for across in (1, -1)]
    if picture.shape[1] == picture.shape[2]:
        ways += [one.swapaxes(1, 2) for one in ways]
    here, *others = map(share, ways)
    return here, max(others)


class LossNames:
    """Names losses, each line of the script its own, counted within a mode.

    Args:
        libraries: Where the framework lies, and the hook on it if that is not here, with the slash
            at the end: no line in them is the script's.
    """

    def __init__(self, *libraries: str) -> None:
        self._not_the_script = (OURS, *libraries)
        self._names: dict[tuple[Mode, str, object], str] = {}
        self._used: dict[tuple[Mode, str], int] = {}
        self._are_the_script: dict[str, bool] = {}  # files

    def name(self, mode: Mode, what: str, line: object = None) -> str:
        """Return the name of the loss ``what`` that a line, by default the calling, computes."""
        key = (mode, what, line or self._script_line())
        if key not in self._names:
            number = self._used.get((mode, what), 0)
            self._used[mode, what] = number + 1
            self._names[key] = f"loss/{what}" if number == 0 else f"loss/{what}_{number}"
        return self._names[key]

    def calling_frame(self) -> tuple[int, FrameType] | None:
        """Return the innermost frame outside of the framework and of this package.

        Returns:
            How many frames out from that of the caller it is, and it; ``None`` where there is none.
        """
        frame: FrameType | None = sys._getframe(1)
        depth = 0
        while frame is not None:
            file = frame.f_code.co_filename
            is_script = self._are_the_script.get(file)
            if is_script is None:
                is_script = not file.startswith(self._not_the_script)
                self._are_the_script[file] = is_script
            if is_script:
                return depth, frame
            frame, depth = frame.f_back, depth + 1
        return None

    def _script_line(self) -> object:
        found = self.calling_frame()
        return found and (found[1].f_code.co_filename, found[1].f_lineno)


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor that was observed in a step, not read yet.

    Args:
        collection: Which built-in collection it belongs to.
        value: It, in the backend's own kind.
        trainable: Whether gradients are wanted for it; ``None`` for what is no parameter.
        function: The function that computed it, or the loss function that was given it.
        arranged: How it is arranged where it is stored; ``None`` for as it is.
        is_needed: Its value is needed on the host, wherever statistics are computed.
    """

    name: str
    collection: str
    value: Any
    trainable: bool | None = None
    function: str = ""
    arranged: Arranged | None = None
    is_needed: bool = False


class Arranged(Protocol):
    """Another order of the axes of a tensor, or axes of one element more or less."""

    def shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return the shape, of the shape that it has; ``None`` for a size that is not known."""

    def value(self, value: Any) -> Any:
        """Return an array as it is arranged."""


#: What leaves a graph, and what of its values gets back those of which it was made.
Outputs = tuple[Sequence[Any], Callable[[Sequence[Any]], Sequence[Any]]]


def split_vectors(
    vectors: Sequence[Any], indexes: Sequence[Sequence[int]], shapes: Sequence[tuple[int, ...]]
) -> dict[int, Any]:
    """Return arrays of which vectors were made, one for each dtype, without a copy.

    Args:
        vectors: The elements of arrays, one array after the other along the last axis.
        indexes: Of which arrays each vector is made.
        shapes: That of each array, by its index.
    """
    values = {}
    for vector, of_vector in zip(vectors, indexes, strict=True):
        end = 0
        for index in of_vector:
            begin, end = end, end + math.prod(shapes[index])
            values[index] = vector[..., begin:end].reshape((*vector.shape[:-1], *shapes[index]))
    return values


class Reader(Protocol):
    """How tensors are read."""

    @property
    def on_host(self) -> bool:
        """Whether tensors can be read here without a transfer, so that they are not summed up.

        Asked once something trains: to ask for devices begins to use them, and what a script
        decides about them, as of threads or memory, it may decide until then.
        """

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return tensors from which the statistics of at least one follow; may be traced."""

    def unpack(self, packed: Sequence[Any], infos: Sequence[TensorInfo]) -> Rows:
        """Return what ``pack`` computed as statistics, shape ``[infos, NUM_FIELDS]``, float64."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a list of tensors that runs on the accelerator in one piece."""

    def to_numpy(self, value: Any) -> npt.NDArray[np.generic]:
        """Return a tensor as an array, without a copy where that is possible."""

    def dtype_name(self, value: Any) -> str:
        """Return what numpy calls the dtype of a tensor."""


class PackedTensors:
    """Tensors that are observed together, and what of them is needed on the host.

    Args:
        tensor_refs: The tensors; made inside of a graph, they are of that graph.
        recorder: Says what is saved of them.
        pack: Computes their packed statistics; ``reader.pack`` by default.
    """

    def __init__(
        self,
        tensor_refs: Sequence[TensorRef],
        reader: Reader,
        recorder: Recorder,
        pack: Callable[[list[Any]], tuple[Any, ...]] | None = None,
    ) -> None:
        self.infos = [
            TensorInfo(
                tensor_ref.name,
                tensor_ref.collection,
                reader.dtype_name(tensor_ref.value),
                _shape_of(tensor_ref),
                tensor_ref.trainable,
                function=tensor_ref.function,
            )
            for tensor_ref in tensor_refs
        ]
        self.arranged = [tensor_ref.arranged for tensor_ref in tensor_refs]
        policies = getattr(recorder.plan, "policies", None)
        #: Whether the value itself is needed.
        self.leaves = [
            reader.on_host
            or policies is None
            or any(p.raw or p.digest or p.exponents for p in policies(one.name, one.collection))
            or tensor_ref.is_needed
            for one, tensor_ref in zip(self.infos, tensor_refs, strict=True)
        ]
        self.values = tuple(
            tensor_ref.value
            for tensor_ref, leaves in zip(tensor_refs, self.leaves, strict=True)
            if leaves
        )
        values = [tensor_ref.value for tensor_ref in tensor_refs]
        is_read = reader.on_host or not values
        self.statistics = () if is_read else (pack or reader.pack)(values)

    def arranged_values(
        self, values: Sequence[Any], to_numpy: Callable[[Any], Any]
    ) -> dict[str, Any]:
        """Return the values of those that leave, as they are arranged, by name."""
        leaving = [index for index, leaves in enumerate(self.leaves) if leaves]
        found: dict[str, Any] = {}
        for index, value in zip(leaving, values, strict=True):
            arranged = self.arranged[index]
            if arranged is not None:
                value = arranged.value(to_numpy(value))
            found[self.infos[index].name] = value
        return found

    def release(self) -> None:
        """Hold the tensors no longer: they are of use only where they were observed."""
        self.values = self.statistics = ()


class Observations:
    """Observes tensors, many at a time."""

    def __init__(self, recorder: Recorder, reader: Reader) -> None:
        self._recorder, self._reader = recorder, reader
        self._pack = reader.compiled(reader.pack)
        #: The names of all that was observed.
        self.names: set[str] = set()

    def packed(self, tensor_refs: Sequence[TensorRef]) -> PackedTensors:
        """Return what is to leave a graph for tensors that were observed while it was traced."""
        return PackedTensors(tensor_refs, self._reader, self._recorder)

    def observe(self, mode: Mode, tensor_refs: Sequence[TensorRef]) -> None:
        packed = PackedTensors(tensor_refs, self._reader, self._recorder, self._pack)
        self.note(mode, packed, packed.values, packed.statistics)

    def known(self, tensor_refs: Sequence[TensorRef]) -> PackedTensors:
        """Return what ``observe_values`` needs to know of tensors."""
        packed = PackedTensors(tensor_refs, self._reader, self._recorder, lambda _: ())
        packed.release()
        return packed

    def observe_values(self, mode: Mode, known: PackedTensors, values: list[Any]) -> None:
        """Observe tensors that are known by other values of theirs."""
        statistics = () if self._reader.on_host or not values else self._pack(values)
        left = [value for value, leaves in zip(values, known.leaves, strict=True) if leaves]
        self.note(mode, known, left, statistics)

    def note(
        self, mode: Mode, packed: PackedTensors, values: Sequence[Any], statistics: Sequence[Any]
    ) -> None:
        """Observe tensors by what has left a graph for them.

        Args:
            values: Of ``packed.values``.
            statistics: Of ``packed.statistics``.
        """
        step, left = self._recorder.open_step(mode), iter(values)
        rows: Sequence[Row | None] = [None] * len(packed.infos)
        if statistics:
            rows = list(self._reader.unpack(statistics, packed.infos))
        for info, leaves, row, arranged in zip(
            packed.infos, packed.leaves, rows, packed.arranged, strict=True
        ):
            self.names.add(info.name)
            value = next(left) if leaves else None
            if arranged is not None and value is not None and step.level(info) != NOTHING:
                value = arranged.value(self._reader.to_numpy(value))
            if row is None:
                self._read(step, info, value)
            else:
                self._computed(step, info, row, value)

    def _read(self, step: OpenStep, info: TensorInfo, value: Any) -> None:
        level = step.level(info)
        if level != NOTHING:
            array = self._reader.to_numpy(value)
            known = info if info.shape == array.shape else replace(info, shape=array.shape)
            step.add(known, array, level)

    def _computed(self, step: OpenStep, info: TensorInfo, row: Row, value: Any) -> None:
        level = step.level(info)
        if level != NOTHING:
            info = replace(info, shape=_whole(info.shape, int(row[COUNT])))
            step.add_statistics(info, row)
        if level > STATISTICS and value is not None:
            step.add_more(info, self._reader.to_numpy(value), level)


class RepeatedTensors:
    """Observes tensors that are the same in every step, such as weights: only values are new."""

    def __init__(self, recorder: Recorder, observations: Observations) -> None:
        self._recorder, self._observations = recorder, observations
        self._layout: object = None
        self._plan: object = None
        self._indexes: list[int] = []
        self._known: PackedTensors | None = None

    def observe(
        self,
        mode: Mode,
        values: Sequence[Any],
        layout: object,
        tensor_refs: Callable[[], Iterable[TensorRef | None]],
    ) -> None:
        """Observe them in the open step of a mode.

        Args:
            values: The values of all of them.
            layout: Something that is equal as long as they are the same in the same order.
            tensor_refs: Returns what each is, ``None`` for one that is not observed.
        """
        if self._known is None or (self._layout, self._plan) != (layout, self._recorder.plan):
            self._layout, self._plan = layout, self._recorder.plan
            found = list(tensor_refs())
            self._indexes = [index for index, one in enumerate(found) if one is not None]
            self._known = self._observations.known([one for one in found if one is not None])
        chosen = [values[index] for index in self._indexes]
        self._observations.observe_values(mode, self._known, chosen)


def _shape_of(tensor_ref: TensorRef) -> tuple[Any, ...]:
    shape = tuple(tensor_ref.value.shape)
    return shape if tensor_ref.arranged is None else tensor_ref.arranged.shape(shape)


def _whole(shape: tuple[int | None, ...], count: int) -> tuple[int, ...]:
    """Return a shape with the size of a batch that was not known when a graph was traced."""
    known = math.prod(size for size in shape if size is not None)
    missing = count // known if known else 0
    return tuple(missing if size is None else size for size in shape)


#: Rows are padded at their end if so many of them end in the same token, at least at so many
#: positions, in the median of the rows.
_PADDED_ROWS, _PADDED_STEPS = 0.9, 8


#: An id is padding where so many rows begin or end in it, and a token as well where it stands
#: between others in so many.
_PADS, _BETWEEN = 0.2, 0.2


#: A mask that hides so many different tokens, and leaves one only, has been turned round.
_SEVERAL = 3


def hides_all_but_padding(
    tokens: npt.NDArray[np.generic], is_hidden: npt.NDArray[np.bool_]
) -> bool:
    """Return whether of some tokens a mask hides several different ones, and leaves one only.

    Args:
        tokens: Whole numbers, shape ``[samples, positions]``.
        is_hidden: Of the same shape; of another, false is returned.

    Example:
        >>> rows = np.array([[5, 3, 8, 0, 0], [7, 4, 0, 0, 0]])
        >>> hides_all_but_padding(rows, rows != 0), hides_all_but_padding(rows, rows == 0)
        (True, False)
    """
    if is_hidden.shape != tokens.shape:
        return False
    left, hidden = np.unique(tokens[~is_hidden]), np.unique(tokens[is_hidden])
    return len(left) == 1 and len(hidden) >= _SEVERAL


def pads_tokens(tokens: npt.NDArray[np.generic], padding: int) -> bool:
    """Return whether the id of padding is also that of a token, which stands between others.

    Whichever axis is that of the positions: along the other one padding is between tokens anyway.

    Args:
        tokens: Shape ``[samples, positions]`` or ``[positions, samples]``, of whole numbers.
        padding: Which is passed over.

    Example:
        >>> rows = np.array([[5, 3, 8, 0, 0], [7, 4, 0, 0, 0], [6, 8, 4, 0, 0]])
        >>> pads_tokens(rows, 0), pads_tokens(rows.T, 0)
        (False, False)
        >>> pads_tokens(np.array([[5, 0, 8, 7, 0], [0, 4, 0, 3, 0], [6, 0, 4, 0, 2]]), 0)
        True
    """
    if tokens.ndim != 2 or not tokens.size:
        return False
    return _has_within(tokens != padding) and _has_within((tokens != padding).T)


def _has_within(others: npt.NDArray[np.bool_]) -> bool:
    """Return whether many rows begin or end in padding, and many have some between tokens."""
    first, last = others.argmax(1), others.shape[1] - 1 - others[:, ::-1].argmax(1)
    within = last - first + 1 - others.sum(1)  # of a row of padding alone all is
    pads = ~(others[:, 0] & others[:, -1])
    return bool(pads.mean() >= _PADS and ((within > 0) & others.any(1)).mean() >= _BETWEEN)


#: Of so few equal pairs nothing is known; they repeat across samples by this factor, less one, and
#: by so much more than along them.
_LEAST_EQUAL, _ACROSS, _MORE = 50, 0.5, 3.0
#: Samples side by side hold the same token at a place so many times more often than by chance.
_COPIED = 2.0


def follow_across(tokens: npt.NDArray[np.generic]) -> bool:
    """Return whether tokens follow one another from sample to sample, and not along time.

    Two tokens that stand side by side in a text do so again, more often than each of them occurs by
    itself. Samples are other places of it, so that two at the same time are any two; or what stands
    at a place is like in all of them, and then in those that lie farther apart, too.

    Args:
        tokens: Whole numbers, shape ``[time, samples]``, without padding.
    """
    if tokens.ndim != 2 or min(tokens.shape) < 4:
        return False
    chances = np.unique(tokens, return_counts=True)[1] / tokens.size
    if (tokens[:, :-1] == tokens[:, 1:]).mean() > _COPIED * (chances**2).sum():
        return False  # samples are alike, as the answers to one prompt
    along = _excess(tokens[:-1], tokens[1:])
    across = _excess(tokens[:, :-1], tokens[:, 1:])
    far = tokens.shape[1] // 2
    by_place = _excess(tokens[:, :-far], tokens[:, far:])
    return across > _ACROSS and across > _MORE * max(along, by_place, 0.0)


def _excess(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> float:
    """Return how much more often pairs are equal than their halves are; 0 where little is known.

    Of all pairs of pairs, 0 where the two halves have nothing to do with each other.
    """
    a, b = first.ravel().astype(np.int64), second.ravel().astype(np.int64)
    both, one, other = (
        float((counts * (counts - 1)).sum())
        for codes in (a * (int(b.max()) + 1) + b, a, b)
        for counts in [np.unique(codes, return_counts=True)[1].astype(np.float64)]
    )
    of_all = len(a) * (len(a) - 1.0)
    return both * of_all / (one * other) - 1 if both >= 2 * _LEAST_EQUAL else 0.0


#: Of fewer edges it is not known whether they go both ways; nearly all do, or nearly none.
_LEAST_EDGES, _BOTH_WAYS, _ONE_WAY = 32, 0.9, 0.2


def are_torn(edges: npt.NDArray[np.generic]) -> bool:
    """Return whether edges are a list of pairs that was reshaped and not transposed.

    Edges of a graph that go both ways do so for no more than chance once ends of different pairs
    are put together, and do again once what lies side by side is a pair.

    Args:
        edges: Whole numbers of nodes, shape ``[2, edges]``.

    Example:
        >>> one_way = np.random.default_rng(0).integers(0, 50, (40, 2))
        >>> pairs = np.stack([one_way, one_way[:, ::-1]], 1).reshape(-1, 2)
        >>> are_torn(pairs.reshape(2, -1)), are_torn(pairs.T)
        (True, False)
    """
    if edges.ndim != 2 or len(edges) != 2 or edges.shape[1] < _LEAST_EDGES:
        return False
    return _reciprocal(edges.reshape(-1, 2)) >= _BOTH_WAYS and _reciprocal(edges.T) <= _ONE_WAY


def are_torn_from(edges: npt.NDArray[np.generic], pairs: npt.NDArray[np.generic]) -> bool:
    """Return whether edges are those of a list of pairs that was reshaped and not transposed.

    Some edges may be left out, turned round, or added for both ways and loops.

    Args:
        edges: Whole numbers of nodes, shape ``[2, edges]``.
        pairs: Shape ``[pairs, 2]``.

    Example:
        >>> pairs = np.random.default_rng(0).integers(0, 50, (40, 2))
        >>> are_torn_from(pairs.reshape(2, -1), pairs), are_torn_from(pairs.T, pairs)
        (True, False)
    """
    if min(edges.shape[1], len(pairs)) < _LEAST_EDGES:
        return False
    size = int(max(edges.max(), pairs.max())) + 1
    given, torn, whole = (_joined(one, size) for one in (edges, pairs.reshape(2, -1), pairs.T))
    if len(given) < _LEAST_EDGES:
        return False
    are_torn, are_whole = (float(np.isin(given, one).mean()) for one in (torn, whole))
    return are_torn >= _BOTH_WAYS and are_whole <= _ONE_WAY


def _joined(edges: npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    """Return numbers of the pairs of different nodes that edges join, whichever way they go."""
    low, high = np.sort(edges[:, edges[0] != edges[1]].astype(np.int64), 0)
    return np.unique(low * size + high)


def _reciprocal(pairs: npt.NDArray[Any]) -> float:
    """Return the share of pairs that are there the other way round, too; of loops none."""
    first, second = pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int64).T
    size = int(pairs.max()) + 1
    there = np.isin(first * size + second, second * size + first)
    return float(there.mean()) if len(there) >= _LEAST_EDGES else 0.0


#: Of fewer graphs in a batch it is not said that their edges were put together without an offset.
_LEAST_GRAPHS = 4


def are_graphs(owners: npt.NDArray[np.generic]) -> bool:
    """Return whether whole numbers say to which of several graphs of a batch each node belongs.

    Args:
        owners: Shape ``[nodes]``.

    Example:
        >>> are_graphs(np.repeat([0, 1, 2, 3], 5)), are_graphs(np.repeat([2, 0, 1, 3], 5))
        (True, False)
    """
    if owners.ndim != 1 or not owners.size or owners[0] != 0 or owners[-1] + 1 < _LEAST_GRAPHS:
        return False
    steps = np.diff(owners)
    return bool(((steps == 0) | (steps == 1)).all())


def lack_offset(edges: npt.NDArray[np.generic], owners: npt.NDArray[np.generic]) -> bool:
    """Return whether the edges of a batch of graphs count nodes from 0 in each of them.

    No end then lies beyond what the largest graph has, and all but the first graphs of the batch
    are without edges. Loops, which are often added to the batch as a whole, do not count.

    Args:
        edges: Whole numbers of nodes, shape ``[2, edges]``.
        owners: The graph of each node, as ``are_graphs`` knows them, shape ``[nodes]``.

    Example:
        >>> path = np.array([np.arange(9), np.arange(1, 10)])
        >>> apart, owners = [path + 10 * graph for graph in range(8)], np.repeat(np.arange(8), 10)
        >>> lack_offset(np.hstack([path] * 8), owners), lack_offset(np.hstack(apart), owners)
        (True, False)
    """
    sizes = np.bincount(owners)
    largest = int(sizes.max())
    proper = edges[:, edges[0] != edges[1]]
    if proper.shape[1] < _LEAST_EDGES or 2 * largest > len(owners):
        return False
    return int(proper.max()) < largest


def padded_share(tokens: npt.NDArray[np.generic]) -> float:
    """Return how much of the median row is one token at its end, 0 if rows end otherwise.

    Args:
        tokens: Shape ``[samples, positions]``, of whole numbers; else there is no padding.

    Example:
        >>> rows = [[5, 3, *[0] * 8], [7, 4, *[0] * 8]]
        >>> padded_share(np.array(rows)), padded_share(np.array(rows)[:, ::-1])
        (0.8, 0.0)
    """
    if tokens.ndim != 2 or not tokens.size or (tokens != np.rint(tokens)).any():
        return 0.0
    last, counts = np.unique(tokens[:, -1], return_counts=True)
    is_other = tokens[:, ::-1] != last[counts.argmax()]
    steps = np.where(is_other.any(1), is_other.argmax(1), tokens.shape[1])
    median = float(np.median(steps))
    is_padded = (steps > 0).mean() >= _PADDED_ROWS and median >= _PADDED_STEPS
    return median / tokens.shape[1] if is_padded else 0.0
