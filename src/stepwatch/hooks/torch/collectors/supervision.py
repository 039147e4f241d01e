"""Which targets of a loss count, and which tokens of the input they are.

Targets of classes are compared with the token ids that embeddings were given, or, where no module
embeds them, with those that the model was called with. All of it is counted where the targets are,
and nothing waits for an accelerator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from weakref import ref

import numpy as np
import numpy.typing as npt
import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...padding import IgnoredEnds, leaves_ends_out, pads_targets
from ..device import PackedBits
from ..events import LossCall
from ..internals import call_keywords, in_transform, isolated_compute
from ..observe import Observer
from ..tensors import readable, tensors_in

#: What the elements are; those of ``SHIFTS`` and of the last tokens follow.
FIELDS = (
    "calls",  # of the loss in the step
    "repeated",  # of these, since the gradients before were computed
    "targets",  # in all
    "counted",  # that are not ignored
    "ignored",  # that are ignored and are a class that the prediction has
    "largest",  # of the most frequent class that counts, 0 if there are too many classes
    "varied",  # samples with an ignored target that differ from the first of them
    "rows",  # of the prediction that were read: so many targets of them count
    "right",  # and are predicted
    # The largest of several calls:
    "classes",  # of the prediction
    "ignore_index",
    "of_samples",  # 1 where each sample has one target
    "shorter",  # 1 where there are fewer targets than tokens
    "offset",  # at which token the first prediction lies, UNKNOWN if that is not known
)
_NUM_SUMS = FIELDS.index("classes")
#: By how many positions the token lies behind its target.
SHIFTS = (-1, 0, 1, 2, 3)
#: So many tensors of token ids are compared, along both axes; of these, matches and comparisons.
MOST_INPUTS = 3
SHIFTS_SHAPE = (MOST_INPUTS, 2, 2, len(SHIFTS))
_LAST = len(FIELDS) + MOST_INPUTS * 4 * len(SHIFTS)
#: With the last token of samples that is not a target, in how many, and how often it is one else.
SIZE = _LAST + 3
UNKNOWN = -(10**6)

_COLLECTION = "supervision"
_OF_CLASSES = ("cross_entropy", "nll_loss")
#: Of the tokens at most so many are compared, of the predictions and samples so many are read.
MOST_TOKENS, MOST_ROWS, MOST_SAMPLES = 1 << 18, 128, 1024
# Of so many it is looked which are padding.
_MOST_PADDED = 1 << 13
# Of each sample, and of each prediction.
_MOST_ELEMENTS, _FIRST_ELEMENTS, _MOST_PLACES = 64, 16, 16
MOST_CLASSES = 1000
_LEAST_LENGTH = 4
_NOTHING = torch.iinfo(torch.int64).min
# Integers among the inputs that are no tokens.
_NO_TOKENS = re.compile(r"mask|label|target|position|type|length", re.IGNORECASE)

# Where last tokens, or ends, are no targets, more samples are looked at until so many steps later.
_SETTLED = 61

Counts = npt.NDArray[np.int64]


class Supervision:
    """Observes targets of classes, in the collection ``supervision``.

    Args:
        observer: Turns what is counted into rows.
        observe_later: Has steps to come observed in full.
    """

    def __init__(
        self, observer: Observer, observe_later: Callable[[range], None] = lambda _: None
    ) -> None:
        self._observer, self._observe_later = observer, observe_later
        self._calls: Counter[str] = Counter()
        self._step: OpenStep | None = None
        self._batch: list[tuple[str, torch.Tensor]] = []
        self._embedded: list[torch.Tensor] = []
        self._output: ref[torch.Tensor] | None = None
        self._ends: dict[tuple[str, int], IgnoredEnds] = {}  # by losses and axes

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:  # noqa: ARG002
        """Remember what a model is called with; to be called by its pre-hook."""
        if step.mode is not Mode.TRAIN or not step.wants(_COLLECTION):
            if step is not self._step and step.mode is Mode.TRAIN:
                self.forget()
            return
        if step is not self._step:
            self._calls.clear()
        self._step = step
        self._batch = [*_named_tensors(inputs), *_named_tensors(call_keywords())]
        self._embedded, self._output = [], None

    def listens(self, step: OpenStep) -> bool:
        """Return whether what modules return is to be observed."""
        return step is self._step

    def returned(
        self,
        step: OpenStep,
        module: torch.nn.Module,
        name: str,  # noqa: ARG002
        given: object,
        output: object,
    ) -> None:
        if step is not self._step:
            return
        if isinstance(module, torch.nn.Embedding):
            for _, ids in _named_tensors(given):
                is_new = all(ids is not known for known in self._embedded)
                if is_new and _are_tokens(ids) and len(self._embedded) < MOST_INPUTS:
                    self._embedded.append(ids)
        elif type(output) is torch.Tensor and output.dim() == 3:
            self._output = ref(output)  # held as long as the script does

    def observe(self, step: OpenStep, loss: str, value: torch.Tensor, call: LossCall) -> None:  # noqa: ARG002
        """A loss of this name was computed."""
        if step is not self._step or call.function not in _OF_CLASSES or in_transform():
            return
        name = f"{_COLLECTION}/{loss.removeprefix('loss/')}"
        prediction, target = readable(call.prediction), readable(call.target)
        if prediction is None or target is None or not _are_classes(prediction, target):
            return
        self._calls[name] += 1
        inputs = [ids for ids in self._inputs() if ids.device == target.device]
        sample = self._samples(target)
        with isolated_compute(target.device.type):
            counted = (target != call.ignore_index) & (target >= 0)
            fitting = [(ids, list(_alignments(ids, target, counted))) for ids in inputs]
            # Positions, for example, are embedded as well.
            fitting = [one for one in fitting if one[1]]
            inputs, aligned = [ids for ids, _ in fitting], [one for _, one in fitting]
            found = torch.cat([
                _class_counts(prediction, target, counted, call.ignore_index, sample),
                _right(prediction, target, counted, is_wanted=bool(aligned)),
                self._offset(prediction, inputs[0] if inputs else None, aligned),
                _all_shifts(aligned, target.device),
                _last_tokens(self._mask(inputs), aligned, target.device),
            ])  # fmt: skip
        known = {
            "calls": 1,
            "repeated": int(self._calls[name] > 1),
            "targets": target.numel(),
            "classes": prediction.shape[min(1, prediction.dim() - 1)],
            "ignore_index": call.ignore_index,
            "of_samples": int(sample is not None),
            "shorter": int(any(one.is_shorter for each in aligned for one in each)),
        }
        self._observer.defer(step, found, partial(self._note, step, name, known))
        counts_all = call.class_weights is None and call.reduction in ("mean", "sum")
        if counts_all and step.wants("setup"):
            for one in aligned[0] if aligned else ():
                self._observe_padding(step, name.partition("/")[2], one, self._flags(inputs[0]))

    def _observe_padding(
        self, step: OpenStep, loss: str, one: Alignment, mask: torch.Tensor | None
    ) -> None:
        """Observe whether targets of a loss that counts them all are of padding, or of no ends."""
        samples, length = max(1, _MOST_PADDED // one.ids.shape[1]), one.target.shape[1]
        masks = () if mask is None else (mask if one.axis else mask.T,)
        some = [each[:samples, :length] for each in (one.ids, one.target, one.counted, *masks)]
        # A model that is given its labels shifts them.
        shifts_itself = any("label" in name.lower() for name, _ in self._batch)

        def note(packed: PackedBits) -> None:
            tokens, target, counted, *masks = np.asarray(packed).reshape(len(some), -1, length)
            if pads_targets(tokens, target, counted != 0, *masks):
                self._observer.numbers(step, {f"setup/pads_targets/{loss}": 1.0}, "setup")
            if not shifts_itself and leaves_ends_out(tokens, target, counted != 0):
                self._observer.numbers(step, {f"setup/no_end/{loss}": 1.0}, "setup")
            ends = self._ends.setdefault((loss, one.axis), IgnoredEnds())
            ends.add(tokens, target, counted != 0, *masks)
            if ends.is_found:
                self._observer.numbers(step, {f"setup/ignored_ends/{loss}": 1.0}, "setup")
            elif ends.is_suspected and ends.num_looks == 1:
                self._observe_later(range(step.mode_step + 10, step.mode_step + _SETTLED, 10))

        with isolated_compute(one.ids.device.type):
            packed = torch.stack([each.to(torch.int64) for each in some]).reshape(-1)
        self._observer.defer(step, packed, note)

    def after_backward(self) -> None:
        """Gradients were computed: a loss that comes again is of other samples."""
        self._calls.clear()

    def forget(self, *_: object) -> None:
        """Observe no more of the forward that ran last."""
        self._step = self._output = None
        self._batch, self._embedded = [], []
        self._calls.clear()

    def _note(self, step: OpenStep, name: str, known: dict[str, int], packed: PackedBits) -> None:
        counts = np.zeros(SIZE, np.int64)
        from_device = [field for field in FIELDS if field not in known]
        counts[[FIELDS.index(field) for field in from_device]] = packed[: len(from_device)]
        counts[[FIELDS.index(field) for field in known]] = [*known.values()]
        counts[len(FIELDS) :] = packed[len(from_device) :]
        token, samples, elsewhere = counts[_LAST:].tolist()
        if token >= 0 and samples and not elsewhere:
            self._observe_later(range(step.mode_step + 10, step.mode_step + _SETTLED, 10))
        self._observer.joined(step, name, _COLLECTION, counts, joined)

    def _inputs(self) -> list[torch.Tensor]:
        """Return the token ids that the model was given."""
        if self._embedded:
            return self._embedded
        named = (ids for name, ids in self._batch if not _NO_TOKENS.search(name))
        return [ids for ids in named if _are_tokens(ids)][:1]

    def _samples(self, target: torch.Tensor) -> torch.Tensor | None:
        """Return the data of samples that have one target each; ``None`` if there are none."""
        if target.dim() != 1:
            return None
        for name, given in self._batch:
            fits = given.dim() >= 2 and len(given) == len(target) and given[0].numel() > 1
            if fits and given.device == target.device and not _NO_TOKENS.search(name):
                return given
        return None

    def _mask(self, inputs: list[torch.Tensor]) -> torch.Tensor | None:
        """Return the mask of the first of the token ids, not 0 where they are no padding."""
        for name, given in self._beside(inputs[0]) if inputs else ():
            if "mask" in name.lower() and not given.is_floating_point():
                return given
        return None

    def _flags(self, ids: torch.Tensor) -> torch.Tensor | None:
        """Return what may tell the model which token ids are padding, either way round."""
        for name, given in self._beside(ids) if ids.dim() == 2 else ():
            if given.dtype is torch.bool or "mask" in name.lower():
                return given.to(torch.int64)
        return None

    def _beside(self, ids: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield what the model was given for each token id, by the names of its arguments."""
        for name, given in self._batch:
            if given.shape == ids.shape and given.device == ids.device:
                yield name, given

    def _offset(
        self,
        prediction: torch.Tensor,
        ids: torch.Tensor | None,
        aligned: list[list[Alignment]],
    ) -> torch.Tensor:
        """Return at which token the first prediction lies, by the output that it is a part of.

        Shape ``[1]``; what the model puts before the tokens, such as an image, is not counted.
        """
        output = self._output() if self._output is not None else None
        unknown = torch.full((1,), UNKNOWN, device=prediction.device)
        if output is None or ids is None or output.device != prediction.device:
            return unknown
        length = ids.shape[-1]
        num_targets = aligned[0][0].target.shape[1]
        if output.shape[2] != prediction.shape[1] or output.shape[1] < max(length, num_targets):
            return unknown
        of_first = prediction if prediction.dim() == 2 else prediction[0].T
        rows = of_first.detach()[: min(num_targets, _MOST_PLACES), :_FIRST_ELEMENTS].float()
        found = place_of(rows, output.detach()[0, :, :_FIRST_ELEMENTS].float())
        return torch.where(found >= 0, found - (output.shape[1] - length), unknown)


def place_of(rows: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """Return where the first rows of a prediction lie in the output that it is a part of.

    Args:
        rows: Shape ``[rows, elements]``.
        output: Shape ``[at least as many rows, elements]``.

    Returns:
        int64, shape ``[1]``; negative where they are at no place, or at several.
    """
    windows = output.unfold(0, len(rows), 1).transpose(1, 2)
    is_same = (windows == rows).all(2).all(1)
    place = is_same.to(torch.uint8).argmax().reshape(1)
    return torch.where(is_same.sum() == 1, place, -1)


class Alignment:
    """Token ids and the targets of their positions.

    Args:
        ids: Shape ``[samples, length]``, int64.
        target: Shape ``[samples, at most length]``, int64.
        counted: Which of the targets count, the shape of ``target``.
        axis: Along which the tokens follow each other, as they were given.
    """

    def __init__(
        self, ids: torch.Tensor, target: torch.Tensor, counted: torch.Tensor, axis: int
    ) -> None:
        self.ids, self.target, self.counted, self.axis = ids, target, counted, axis

    @property
    def is_shorter(self) -> bool:
        """Whether the last tokens, or the first, have no target."""
        return self.target.shape[1] < self.ids.shape[1]


def _alignments(
    ids: torch.Tensor, target: torch.Tensor, counted: torch.Tensor
) -> Iterator[Alignment]:
    """Yield the targets of tokens along the last axis, and along the first.

    Args:
        ids: Shape ``[samples, length]``, ``[length, samples]`` or ``[length]``.
        target: Any shape; nothing is yielded where it does not fit.
    """
    if ids.dim() == 1:
        ids = ids[None]
    for axis in (1, 0):
        num_samples, length = ids.shape if axis else ids.shape[::-1]
        num_targets, rest = divmod(target.numel(), num_samples)
        # Targets one or two fewer than tokens are what a shift leaves.
        least = max(_LEAST_LENGTH, length - 2 * axis)
        if rest or not least <= num_targets <= length or (not axis and num_samples < 2):
            continue
        shape = (num_samples, num_targets) if axis else (num_targets, num_samples)
        if target.dim() > 2 or (target.dim() == 2 and target.shape != shape):
            continue
        found = [ids, target.reshape(shape), counted.reshape(shape)]
        most = max(1, MOST_TOKENS // length)
        along = [one[:most] if axis else one[:, :most].T for one in found]
        yield Alignment(along[0].to(torch.int64), along[1].to(torch.int64), along[2], axis)


def shift_matches(ids: torch.Tensor, target: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """Return how many targets are the token at their position, or at one before or behind.

    Args:
        ids: Tokens, shape ``[samples, length]``, int64.
        target: Of the first positions, shape ``[samples, at most length]``, int64.
        counted: Which of them count, bool, the shape of ``target``.

    Returns:
        int64, shape ``[2, 5]``: for each of ``SHIFTS``, how many match, and how many there are
        of which the other position is a token, and none of several alike that a sample ends in,
        as padding.
    """
    before, behind = -SHIFTS[0], SHIFTS[-1]
    ends = (ids == ids[:, -1:]).flip(1).cumprod(1).flip(1)
    is_padding = ends.bool() & (ends.sum(1, keepdim=True) > 1)
    ids = ids.masked_fill(is_padding, _NOTHING)
    padded = torch.nn.functional.pad(ids, (before, behind), value=_NOTHING)
    windows = padded.unfold(1, len(SHIFTS), 1)[:, : target.shape[1]]
    compared = counted[..., None] & (windows != _NOTHING)
    matched = compared & (windows == target[..., None])
    return torch.stack([matched.sum((0, 1)), compared.sum((0, 1))])


def _all_shifts(aligned: list[list[Alignment]], device: torch.device) -> torch.Tensor:
    """Return ``shift_matches`` along both axes of each input, shape ``SHIFTS_SHAPE``, flat."""
    found = torch.zeros(SHIFTS_SHAPE, dtype=torch.int64, device=device)
    for number, each in enumerate(aligned):
        for one in each:
            found[number, 1 - one.axis] = shift_matches(one.ids, one.target, one.counted)
    return found.reshape(-1)


def _zeros(size: int, *, like: torch.Tensor) -> torch.Tensor:
    return torch.zeros(size, dtype=torch.int64, device=like.device)


def _class_counts(
    prediction: torch.Tensor,
    target: torch.Tensor,
    counted: torch.Tensor,
    ignore_index: int,
    samples: torch.Tensor | None,
) -> torch.Tensor:
    """Return ``counted``, ``ignored``, ``largest`` and ``varied``, shape ``[4]``, int64."""
    found = _zeros(4, like=target)
    found[0] = counted.sum()
    num_classes = prediction.shape[min(1, prediction.dim() - 1)]
    if not 0 <= ignore_index < num_classes:
        return found
    is_ignored = target == ignore_index
    found[1] = is_ignored.sum()
    if num_classes <= MOST_CLASSES:
        counts = _zeros(num_classes + 1, like=target)
        meant = target.reshape(-1).to(torch.int64)
        is_known = counted.reshape(-1) & (meant < num_classes)
        index = torch.where(is_known, meant, num_classes)
        counts.scatter_add_(0, index, torch.ones_like(index))
        found[2] = counts[:num_classes].max()
    if samples is not None:
        chosen = _elements(samples)
        first = chosen.index_select(0, is_ignored.to(torch.uint8).argmax().reshape(1))
        found[3] = ((chosen != first).any(1) & is_ignored).sum()
    return found


def _elements(samples: torch.Tensor) -> torch.Tensor:
    """Return evenly spaced elements of each sample."""
    flat = samples.detach().flatten(1)
    return flat[:, :: max(1, flat.shape[1] // _MOST_ELEMENTS)]


def _right(
    prediction: torch.Tensor, target: torch.Tensor, counted: torch.Tensor, *, is_wanted: bool
) -> torch.Tensor:
    """Return of how many predictions the targets count, and how many are right, shape ``[2]``."""
    if not is_wanted or prediction.dim() not in (2, 3):
        return _zeros(2, like=target)
    flat, counts = target.reshape(-1), counted.reshape(-1)
    chosen = counts.to(torch.uint8).topk(min(MOST_ROWS, len(counts))).indices
    if prediction.dim() == 2:
        rows = prediction.detach().index_select(0, chosen)
    else:
        length = prediction.shape[2]
        rows = prediction.detach()[chosen // length, :, chosen % length]
    is_right = (rows.argmax(1) == flat[chosen]) & counts[chosen]
    return torch.stack([counts[chosen].sum(), is_right.sum()])


def _last_tokens(
    mask: torch.Tensor | None, aligned: list[list[Alignment]], device: torch.device
) -> torch.Tensor:
    """Return the most frequent last token that is no target, though the one before it is.

    Args:
        mask: Not 0 where the first of the inputs is no padding.

    Returns:
        Shape ``[3]``, int64: the token, negative for none; in how many samples it is so; and how
        often it is a target that counts.
    """
    one = next((one for each in aligned[:1] for one in each if one.axis), None)
    if mask is None or one is None or mask.dim() != 2:
        return torch.zeros(3, dtype=torch.int64, device=device)
    num_samples = min(MOST_SAMPLES, len(one.ids))
    ids, counted = one.ids[:num_samples], one.counted[:num_samples]
    positions = torch.arange(ids.shape[1], device=ids.device)
    last = ((mask[:num_samples] != 0) * positions).amax(1, keepdim=True)
    # A target lies one position before its token.
    at, before = last - 1, last - 2
    most = counted.shape[1] - 1
    was_counted = counted.gather(1, before.clamp(0, most)) & (before >= 0)
    is_left_out = ~counted.gather(1, at.clamp(0, most)) & (at >= 0) & (at <= most)
    ends = (is_left_out & was_counted)[:, 0]
    # Each of the others by itself, so that they are not the most frequent.
    nothing = -1 - torch.arange(num_samples, device=ids.device)
    token = torch.where(ends, ids.gather(1, last)[:, 0], nothing).mode().values
    number = (ends & (ids.gather(1, last)[:, 0] == token)).sum()
    return torch.stack([token, number, ((one.target == token) & one.counted).sum()])


def joined(before: Counts, now: Counts) -> Counts:
    """Return what two calls of a loss in one step have together."""
    result = before + now
    largest = slice(_NUM_SUMS, len(FIELDS))
    result[largest] = np.maximum(before[largest], now[largest])
    if before[_LAST] != now[_LAST]:
        result[_LAST:] = max(before[_LAST:], now[_LAST:], key=lambda last: int(last[1]))
    else:
        result[_LAST] = before[_LAST]
    return result


def _named_tensors(given: object) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors in what a model or module is called with that can be read."""
    for path, tensor in tensors_in(given, ""):
        value = readable(tensor)
        if value is not None:
            yield path.rpartition("/")[2], value


def _are_tokens(tensor: torch.Tensor) -> bool:
    is_integer = not tensor.is_floating_point() and tensor.dtype is not torch.bool
    return is_integer and tensor.dim() in (1, 2)


def _are_classes(prediction: torch.Tensor, target: torch.Tensor) -> bool:
    """Return whether each target is the index of a class."""
    axis = min(1, prediction.dim() - 1)
    shape = list(prediction.shape)
    del shape[axis : axis + 1]
    is_index = not target.is_floating_point() and target.dtype is not torch.bool
    is_here = prediction.device == target.device
    return is_index and is_here and target.dim() > 0 and list(target.shape) == shape
