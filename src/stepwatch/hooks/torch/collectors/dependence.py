"""On which of its inputs a prediction depends, as targets and derivatives show at a few steps.

For derivatives the graph that ``backward()`` is about to use is differentiated once before it, from
one row of what a loss is given back to what the first module returned. No parameter gets a
gradient, and no random number is drawn. What would notice is left alone: a graph with a function of
the script's own, with hooks on tensors or kept gradients, one that checkpoints or moves what it
saves, and a training of several processes. Of a loss that a script writes out its graph shows with
how many targets each prediction is compared.

A model that is to recommend the next item is given items, makes something of them and looks the
next ones up in the same embedding, to compare them with that: targets are known by that second
lookup, and what is differentiated is what the last module before it returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.hooks import RemovableHandle

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ... import observations
from ...nearest import pairing
from ...observations import (
    DEPENDENCE,
    EXACT,
    LEAST_COLUMNS,
    LEAST_ROWS,
    MOST_COLUMNS,
    SERIES,
)
from ...patching import PatchSet
from ..broadcast import targets_per_prediction
from ..events import LossCall
from ..internals import (
    BatchNorm,
    call_keywords,
    in_transform,
    isolated_compute,
)
from ..models import is_of_keras
from ..observe import Summaries, on_host
from ..process import is_cuda_used, is_one_of_several
from ..tensors import plain, tensors_in, to_numpy, unsupported

_OF_CLASSES = ("cross_entropy", "nll_loss")
# So many targets are the next tokens of a text.
_NEXT = 0.95
# Less than this share of the squared derivatives is what rounding left.
_NEGLIGIBLE = 1e-10
# So many tokens, as far as there are, lie side by side where a mask lets some be seen.
_IN_A_ROW = 4


@dataclass(frozen=True)
class PredictionRow:
    """The row of a prediction whose derivatives are taken.

    Args:
        length: Positions of a sample; 1 where it is no sequence of tokens.
        is_flat: The samples' positions lie one after the other in the first dimension.
    """

    batch: int
    length: int
    is_flat: bool

    @property
    def flat_index(self) -> int:
        """The row: of the second half of the batch, and of a position in its middle."""
        if not self.is_flat:
            return self.batch // 2
        first = self.batch // 2 * self.length + self.length // 2
        # Another sample by either order of rows.
        return first if first // self.length != first % self.batch else first + 1

    @property
    def position(self) -> int:
        """The position of it, where the rows are sample by sample."""
        return self.flat_index % self.length if self.is_flat else self.length // 2

    def take(self, prediction: torch.Tensor) -> torch.Tensor:
        if self.is_flat or self.length == 1:
            return prediction[self.flat_index]
        return prediction[self.flat_index].select(-1, self.position)

    def summarize(
        self, derivative: torch.Tensor, given: torch.Tensor, *, mixes: bool
    ) -> torch.Tensor:
        """Return what derivatives by what the samples became tell.

        Args:
            derivative: Of the row, shape ``[batch, length, ...]`` or ``[batch, ...]``.
            given: What the model was given.
            mixes: Samples are normalized together, so that each depends on all.

        Returns:
            Shape ``[4]``, float32, as ``observations.DEPENDENCE`` has it.
        """
        size = derivative.float().abs()
        largest = size.max()
        size = (size / largest.clamp_min(1e-38)).square().flatten(1)
        of_samples = size.sum(1)
        own = of_samples.argmax()
        shares = of_samples / of_samples.sum()
        found = torch.full((4,), torch.nan, device=derivative.device)
        if not mixes:
            found[0] = 1 - shares[own]
        if self.is_flat:
            sample, other = self.flat_index // self.length, self.flat_index % self.batch
            found[1] = torch.where(own == sample, 1.0, torch.where(own == other, 0.0, torch.nan))
        if self.length > 1 and derivative.shape[1] == self.length and derivative.dim() > 2:
            by_position = size[own].view(self.length, -1).sum(1)
            found[2:] = _over_time(by_position, given.to(own.device)[own], self.position)
        # what is not finite, or zero throughout, is no evidence
        return torch.where((largest > 0) & largest.isfinite(), found, torch.nan)


def _over_time(sizes: torch.Tensor, tokens: torch.Tensor, position: int) -> torch.Tensor:
    """Return the share of what lies behind a position, and how far back the nearest before lies.

    That is not known where all that is skipped is one token, which a mask may hide as padding; a
    single one if it stands at the position itself, too. Nor where nothing lies beside what is not
    skipped: attention whose scores have grown huge, as in a training that diverged, sees a token
    here and there, and a mask sees them in a row.
    """
    shares = sizes / sizes.sum()
    before = shares[:position].flip(0) > _NEGLIGIBLE
    gap = torch.where(before.any(), before.float().argmax() + 1.0, torch.nan)
    beside = torch.arange(1, position + 1, device=before.device) - gap
    in_a_row = (before | (beside < 0) | (beside >= _IN_A_ROW)).all()
    gap = torch.where(in_a_row | (gap == 1), gap, torch.nan)
    last, places = tokens[position - 1], torch.arange(position, device=tokens.device)
    are_one = ((tokens[:position] == last) | (places <= position - gap)).all()
    may_be_padding = are_one & ((gap > 2) | (last == tokens[position]))
    gap = torch.where(may_be_padding & (gap > 1), torch.nan, gap)
    return torch.stack([shares[position + 1 :].sum(), gap])


def prediction_row(
    given: torch.Tensor, prediction: torch.Tensor, call: LossCall
) -> PredictionRow | None:
    """Return which row of a prediction to use; ``None`` if its sample is not known.

    Args:
        given: What the model was given, shape ``[batch, ...]``; tokens are ``[batch, length]``.
        prediction: What it predicts.
        call: The loss of it.
    """
    batch, shape = len(given), prediction.shape
    if batch < 2:
        return None
    is_tokens = given.dim() == 2 and not given.is_floating_point()
    length = given.shape[1] if is_tokens else 1
    if length > 4 and shape[:1] == (batch * length,):
        return PredictionRow(batch, length, is_flat=True)
    if not shape or shape[0] != batch:
        return None
    # The logits of contrasts have a column for each of the samples.
    if len(shape) == 2 and shape[1] % batch in (0, batch - 1, batch - 2) and shape[1] > 1:
        return None
    in_time = call.function in _OF_CLASSES and len(shape) == 3 and shape[2] == length > 4
    return PredictionRow(batch, length if in_time else 1, is_flat=False)


def shifts(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return how many targets are the input itself, or what comes one or two positions later.

    Args:
        given: Tokens, shape ``[batch, length]``.
        target: As many integers.

    Returns:
        Shares of those above 0, shape ``[4]``: for no shift, one and two, and for one
        where the targets lie time by time. All nan for what is no such target.
    """
    wrong = given.is_floating_point() or target.is_floating_point() or given.dim() != 2
    if wrong or given.shape[1] < 8 or target.numel() != given.numel():
        return torch.full((4,), torch.nan)
    found = [_same(given, target.reshape(given.shape), by) for by in (0, 1, 2)]
    turned = target.reshape(given.shape[::-1]).T
    return torch.stack([*found, _same(given, turned, 1)])


def _same(given: torch.Tensor, target: torch.Tensor, by: int) -> torch.Tensor:
    there = target[:, : given.shape[1] - by]
    counts = there > 0  # 0 is padding, and what is below is left out by the loss
    return ((given[:, by:] == there) & counts).sum() / counts.sum()


def correlation(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return what ``observations.correlation`` does, shape ``[2]``.

    On an accelerator, which is not waited for, earlier places of a series, the order of the rows
    and several targets are not looked at.
    """
    nothing = torch.full((2,), torch.nan)
    numbers = given.is_floating_point() and target.is_floating_point() and given.dim() >= 2
    is_whole = target.dim() > 0 and len(target) == len(given) and target.numel() > 0
    if not numbers or not is_whole or len(given) < LEAST_ROWS:
        return nothing
    columns = given.flatten(1)
    if not LEAST_COLUMNS <= columns.shape[1] <= MOST_COLUMNS:
        return nothing
    if on_host(given):
        arrays = (to_numpy(one.double()) for one in (given, target))
        return torch.tensor(observations.correlation(*arrays))
    if target.numel() != len(given):
        return nothing
    x = columns.double()
    found = _correlations(x, target.double().reshape(-1, 1))
    place = columns.shape[1] // given.shape[1]
    if given.dim() > 2:
        found[:-place] = 0
    best = found.argmax()
    near = torch.stack([best - place, best + place]).clamp(0, columns.shape[1] - 1)
    beside = _correlations(x[:, near], x[:, best, None]) * (near != best)
    is_last = (found[best] >= EXACT) & (best >= columns.shape[1] - place)
    known = (found[best] > 0) & (is_last | (beside.max() <= SERIES))
    return torch.where(known, torch.stack([found[best], best.to(found.dtype)]), torch.nan)


def _correlations(columns: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """Return Pearson's coefficients in magnitude; 0 for what does not vary or is not finite."""
    x, y = columns - columns.mean(0), column - column.mean(0)
    found = (x * y).sum(0).abs() / (x.square().sum(0) * y.square().sum(0)).sqrt()
    return found.nan_to_num(0.0, posinf=0.0)


class AutogradObservers:
    """Looks, from when it is made until ``leave``, for what a script does that would notice.

    Hooks on tensors and on functions of graphs would be called once more, kept gradients would be
    added to, and what is packed as it is saved, to be computed anew or moved to the host, would be
    unpacked once more. Anomaly detection would tell of ours as of the script's.
    """

    def __init__(self) -> None:
        # Each hook takes the next number.
        self._first_hook = RemovableHandle.next_id
        self._has_probed = False
        if "retain_grad" not in vars(torch.Tensor):  # what it inherits cannot be replaced
            torch.Tensor.retain_grad = torch.Tensor.retain_grad  # type: ignore[method-assign]
        self._replaced = PatchSet()
        self._replaced.put(torch.Tensor, "retain_grad", self._note)
        self._replaced.put(saved_tensors_hooks, "__enter__", self._note)

    def anybody(self) -> bool:
        hooks = RemovableHandle.next_id > self._first_hook
        return hooks or self._has_probed or torch.is_anomaly_enabled()

    def leave(self) -> None:
        """Look no more; what was seen stays known."""
        self._replaced.remove()

    def _note(self, original: Any) -> Any:
        def noted(owner: object) -> Any:
            self._has_probed = True
            return original(owner)

        return noted


_COLLECTION = "dependence"
#: Larger graphs are not looked through.
MOST_FUNCTIONS = 20_000


class Dependence:
    """Observes what predictions depend on, in the collection ``dependence``."""

    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries
        self._step: OpenStep | None = None
        self._given: torch.Tensor | None = None
        self._source: torch.Tensor | None = None
        self._last: torch.Tensor | None = None
        self._together: int | None = None
        # How many steps of time, and of samples, recurrent layers and attention were given.
        self._in_time: list[tuple[int, int]] = []
        self._attended: list[tuple[int, int]] = []
        self._others: list[torch.Tensor] = []
        # Of several texts, as of an encoder and a decoder, what each became in its first layer.
        self._texts: list[tuple[torch.Tensor, torch.Tensor | None]] = []
        # Of each embedding, by id, the tokens that it was asked for first, and what it returned.
        self._looked_up: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._batch = 0  # how many samples the model was given, until a loss of them is known
        self._autograd_observers: AutogradObservers | None = None

    def begin(self, step: OpenStep, model: torch.nn.Module, inputs: object) -> None:  # noqa: ARG002
        self.forget()
        self._batch = 0
        if step.mode is not Mode.TRAIN or not step.wants(_COLLECTION) or _is_shared_or_unreadable():
            return
        given = [*_tensors(inputs), *_tensors(call_keywords())]
        self._batch = len(given[0]) if given and given[0].dim() else 0
        # Of several inputs one may be what relates samples to each other, as in a graph.
        if given and given[0].dim() >= 2 and (len(given) == 1 or _are_tokens(given)):
            self._step, self._given, self._others = step, given[0], given[1:]
        elif len(texts := [one for one in given if _is_text(one)]) > 1:
            self._step, self._given = step, texts[0]
            self._texts = [(one, None) for one in texts]
        else:
            self._step = step
        if self._step is step and step.wants("derivatives"):
            self._autograd_observers = AutogradObservers()

    def listens(self, step: OpenStep) -> bool:
        """Return whether what modules return is to be observed."""
        return step is self._step

    def returned(
        self,
        step: OpenStep,
        module: torch.nn.Module,
        name: str,
        given: object,
        output: object,
    ) -> None:
        if step is self._step and isinstance(module, torch.nn.Embedding):
            self._look_up(step, module, name, [*_tensors(given)], output)
        first = output[0] if isinstance(output, tuple) and output else output  # as of attention
        if step is self._step and self._given is None and isinstance(first, torch.Tensor):
            self._last = first
        if step is not self._step or self._given is None:
            return
        if isinstance(module, torch.nn.RNNBase) and not module.batch_first:
            sizes = (tensor.shape[:2] for tensor in _tensors(given) if tensor.dim() == 3)
            self._in_time += [(steps, samples) for steps, samples in sizes]
        elif isinstance(module, torch.nn.MultiheadAttention) and not module.batch_first:
            queries = next(iter(_tensors(given)), None)
            if queries is not None and queries.dim() == 3:
                self._attended.append((queries.shape[0], queries.shape[1]))
        if type(output) is not torch.Tensor or not output.requires_grad:
            return
        self._last = output
        if self._texts and isinstance(module, torch.nn.Embedding):
            self._embed([*_tensors(given)], output)
        if _mixes_samples(module):
            self._together = min(self._together or len(output), len(output))
        elif self._source is None and output.dim() >= 2 and len(output) == len(self._given):
            self._source = output

    def _look_up(
        self,
        step: OpenStep,
        module: torch.nn.Module,
        name: str,
        given: list[torch.Tensor],
        output: object,
    ) -> None:
        """Observe, where an embedding is asked for the next tokens, what was made of these."""
        if len(given) != 1 or not _is_text(given[0]) or type(output) is not torch.Tensor:
            return
        tokens, source = self._looked_up.setdefault(id(module), (given[0], output))
        last, observers = self._last, self._autograd_observers
        if source is output or last is None or last is source or last.grad_fn is None:
            return
        if not tokens.shape == given[0].shape == last.shape[:2]:
            return
        is_undetected = observers is not None and not observers.anybody()
        name = f"dependence/{name}"
        if not is_undetected or not self._summaries.wants(step, _COLLECTION, name):
            return
        found = torch.full((len(DEPENDENCE),), torch.nan)
        with isolated_compute("cpu"):
            found[4:8] = shifts(tokens, given[0])
            if found[5] >= _NEXT and _is_plain(last.grad_fn):
                found[2] = _share_of_later(last, source, tokens)
        if found[2] >= 0:
            self._summaries.add(step, _COLLECTION, name, found.nan_to_num(-1.0))

    def _embed(self, given: list[torch.Tensor], output: torch.Tensor) -> None:
        for at, (text, known) in enumerate(self._texts):
            if known is None and len(given) == 1 and _is_same(given[0], text):
                self._texts[at] = text, output

    def _choose_text(self, target: object) -> None:
        """Look, of several texts, at the one whose next tokens are the targets; else at none."""
        chosen = [
            (text, source)
            for text, source in self._texts
            if source is not None
            and isinstance(target, torch.Tensor)
            and _is_comparable(target, text)
            and bool(shifts(text, target)[1] >= _NEXT)
        ]
        self._given, self._source = chosen[-1] if chosen else (None, None)

    def observe(self, step: OpenStep, loss: str, value: torch.Tensor, call: LossCall) -> None:  # noqa: ARG002
        """A loss of this name was computed."""
        if step is not self._step:
            return
        if self._texts:
            with isolated_compute("cpu"):
                self._choose_text(call.target)
        given, source, together = self._given, self._source, self._together
        others = self._others
        autograd_observers = self._autograd_observers
        in_time, attended = self._in_time, self._attended
        self.forget()
        prediction, target = call.prediction, call.target
        if type(prediction) is not torch.Tensor or unsupported(prediction) or given is None:
            return
        name = f"dependence/{loss.removeprefix('loss/')}"
        if not self._summaries.wants(step, _COLLECTION, name):
            return
        found = torch.full((len(DEPENDENCE),), torch.nan, device=prediction.device)
        with isolated_compute(prediction.device.type):
            if not all(_belongs(one, given, target) for one in others):
                return
            if isinstance(target, torch.Tensor) and _is_comparable(target, given):
                found[4:8] = shifts(given, target).to(found)
                found[8:10] = correlation(given, target).to(found)
                if on_host(given):
                    both = to_numpy(given), to_numpy(target)
                    found[13:16] = torch.tensor(observations.alignment(*both))
                    found[18:21] = torch.tensor(pairing(*both))
                    found[21:23] = torch.tensor(observations.purity(*both))
            if given.dim() in (3, 4) and on_host(given) and unsupported(plain(given)) is None:
                found[16:18] = torch.tensor(observations.neighbours(to_numpy(given)))
            rows = prediction_row(given, prediction, call)
            is_undetected = autograd_observers is not None and not autograd_observers.anybody()
            if source is not None and rows is not None and is_undetected:
                mixes = together is not None
                found[:4] = _time_dependence(prediction, source, given, rows, mixes=mixes).to(found)
            if together is not None:
                found[10] = together
            if in_time:
                found[12] = any(_are_samples(sizes, prediction) for sizes in in_time)
            elif any(_are_samples(sizes, prediction) for sizes in attended):
                found[12] = 1  # else samples may be mixed elsewhere
        self._summaries.add(step, _COLLECTION, name, found.nan_to_num(-1.0))

    def observe_composed(self, step: OpenStep, loss: str, value: torch.Tensor) -> None:
        """A loss that is no function of torch is about to be differentiated."""
        given, last = self._given, self._last
        if step is self._step:
            self.forget()
        is_single = given is not None and last is not None and last.numel() == len(given)
        self._observe_pairs(step, loss, value, is_known=is_single)

    def before_backward(self, step: OpenStep, roots: object) -> None:
        """Gradients of ``roots`` are about to be computed in a step."""
        if type(roots) is torch.Tensor and roots.numel() == 1:
            with suppress(Exception):  # a graph of whatever kind
                self._observe_pairs(step, "loss/backward", roots, is_known=False)

    def _observe_pairs(
        self, step: OpenStep, loss: str, value: torch.Tensor, *, is_known: bool
    ) -> None:
        """Observe whether a loss puts values of samples together with those of all samples.

        Args:
            is_known: It compares each with its own, if it does not.
        """
        name = f"dependence/{loss.removeprefix('loss/')}"
        if not self._batch or in_transform() or not self._summaries.wants(step, _COLLECTION, name):
            return
        with isolated_compute(value.device.type):
            compared = targets_per_prediction(value, self._batch)
            if compared is None and not is_known:
                return
            self._batch = 0
            found = torch.full((len(DEPENDENCE),), -1.0, device=value.device)
            found[11] = 1.0 if compared is None else compared
        self._summaries.add(step, _COLLECTION, name, found)

    def forget(self, *_: object) -> None:
        """Look no more at the forward that ran last."""
        self._step = self._given = self._source = self._last = self._together = None
        self._in_time, self._attended, self._others = [], [], []
        self._texts, self._looked_up = [], {}
        if self._autograd_observers is not None:
            self._autograd_observers.leave()
            self._autograd_observers = None


def _are_samples(sizes: tuple[int, int], prediction: torch.Tensor) -> bool:
    """Return whether what a layer takes for steps of time are samples.

    There is a prediction for each of these steps, and none for what it takes for samples.

    Args:
        sizes: How many steps of time, and of samples, the layer is given.
        prediction: Of the same forward.
    """
    steps, samples = sizes
    rows = tuple(prediction.shape[:2])
    return 1 < samples != steps == rows[0] and samples not in rows


def _time_dependence(
    prediction: torch.Tensor,
    source: torch.Tensor,
    given: torch.Tensor,
    rows: PredictionRow,
    *,
    mixes: bool,
) -> torch.Tensor:
    """Return the first four of ``DEPENDENCE``, shape ``[4]``; nan for what is not known."""
    nothing = torch.full((4,), torch.nan)
    if prediction.grad_fn is None or not _is_plain(prediction.grad_fn):
        return nothing
    found = _derivative(lambda: rows.take(prediction), source)
    return nothing if found is None else rows.summarize(found, given, mixes=mixes)


def _derivative(take: Callable[[], torch.Tensor], source: torch.Tensor) -> torch.Tensor | None:
    """Return the derivative by ``source`` of a weighted sum of what is taken, if there is one."""
    with torch.enable_grad():
        row = take().reshape(-1)
        # Not all alike: probabilities add up to what depends on nothing.
        weights = torch.arange(row.numel(), device=row.device) * 7 % 11 - 5.2
        try:
            return torch.autograd.grad(
                (row * weights.to(row.dtype)).sum(), source, retain_graph=True, allow_unused=True
            )[0]
        except RuntimeError:
            return None  # out of memory, or a graph that is to be used once only


def _share_of_later(made: torch.Tensor, source: torch.Tensor, tokens: torch.Tensor) -> float:
    """Return which share of its squared derivatives what is made of a token owes to later ones.

    Args:
        made: Of each token, shape ``[batch, length, ...]``.
        source: What the tokens became first, as ``made``.
        tokens: Shape ``[batch, length]``; 0 is padding. The sample with the most is looked at.
    """
    sample = int((tokens > 0).sum(1).argmax())
    places = (tokens[sample] > 0).nonzero().flatten()
    place = int(places[len(places) // 2]) if len(places) else 0
    found = _derivative(lambda: made[sample, place], source)
    if found is None:
        return math.nan
    sizes = found[sample].double().square().flatten(1).sum(1)
    return float(sizes[place + 1 :].sum() / sizes.sum())


def _is_plain(function: object) -> bool:
    """Return whether a graph has functions of torch only, and few enough of them."""
    known: set[object] = {function}
    left = [function]
    while left:
        one = left.pop()
        if isinstance(one, BackwardCFunction) or len(known) > MOST_FUNCTIONS:
            return False
        for after, _ in getattr(one, "next_functions", ()):
            if after is not None and after not in known:
                known.add(after)
                left.append(after)
    return True


def _is_text(given: torch.Tensor) -> bool:
    """Return whether an input may be tokens, shape ``[batch, length]``, on the host."""
    is_whole = not given.is_floating_point() and given.dtype is not torch.bool
    return is_whole and given.dim() == 2 and min(given.shape) > 2 and on_host(given)


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one is other or (one.shape == other.shape and one.data_ptr() == other.data_ptr())


def _are_tokens(given: list[torch.Tensor]) -> bool:
    """Return whether inputs may be tokens and what belongs to each of them, on the host."""
    shape = given[0].shape
    are_whole = all(not one.is_floating_point() and one.shape == shape for one in given)
    return are_whole and len(shape) == 2 and min(shape) > 2 and all(map(on_host, given))


def _belongs(other: torch.Tensor, tokens: torch.Tensor, target: object) -> bool:
    """Return whether another input of a model is a mask, or what the loss compares.

    That is its target, or the tokens themselves where it counts, which a model shifts.
    """
    if isinstance(target, torch.Tensor) and torch.equal(other.flatten(), target.flatten()):
        return True
    is_mask = bool(((other == 0) | (other == 1)).all())
    return is_mask or bool(((other == tokens) | (other < 0)).all())


def _tensors(given: object) -> Iterator[torch.Tensor]:
    """Yield the tensors in what a model is called with, as far as they can be read."""
    for _, tensor in tensors_in(given, ""):
        value = plain(tensor)
        if unsupported(value) is None and value.layout is torch.strided:
            yield value


def _is_comparable(target: torch.Tensor, given: torch.Tensor) -> bool:
    """Return whether a target can be compared with what the model was given."""
    can_be_read = unsupported(plain(target)) is None and target.layout is torch.strided
    return can_be_read and target.device == given.device


def _is_shared_or_unreadable() -> bool:
    """Return whether what is computed is also that of others, or cannot be read now."""
    capturing = is_cuda_used() and torch.cuda.is_current_stream_capturing()
    return is_one_of_several() or capturing or in_transform()


def _mixes_samples(module: torch.nn.Module) -> bool:
    """Return whether a module normalizes by the samples of the batch, or may, one of Keras."""
    if is_of_keras(type(module)):  # which is told by each call
        return type(module).__name__ == "BatchNormalization"
    return isinstance(module, BatchNorm) and module.training
