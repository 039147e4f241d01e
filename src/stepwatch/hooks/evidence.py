"""What rules need of a step beyond statistics, computed on the host of values that left the step.

Each of these is small: counts of classes, digests of samples, sizes of updates. It is computed at
the steps at which it is saved, most at every tenth, of arrays that are read for their statistics
anyway; nothing is added to what the model runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..capture.open_step import OpenStep
from ..capture.plan import NOTHING
from ..model.record import TensorInfo
from ..model.steps import Mode
from ..numerics.digest import digest, row_digests
from ..numerics.measures import Floats, scalar_value
from ..numerics.statistics import SUM_SQ, summarize
from .losses import (
    CROSS_ENTROPY,
    OF_PROBABILITIES,
    Array,
    LossCall,
    confusion,
    labels_and_predictions,
    log_partition,
    relative_spread,
)
from .nearest import NearestSamples, pairing
from .observations import (
    DEPENDENCE,
    MOST_SAMPLE_ELEMENTS,
    MOST_SAMPLES,
    NO_DATA,
    alignment,
    correlation,
    neighbours,
)
from .padding import counts_padding

#: Returns the value of a tensor that was observed in the step, by name; ``None`` for no such value.
Lookup = Callable[[str], "Array | None"]
_NOTHING: Mapping[str, float] = {}


class Evidence:
    """Adds summaries to steps.

    Args:
        observed: To which the names of what is added are added.
        nearest: The samples so far.
    """

    def __init__(self, observed: set[str], nearest: NearestSamples) -> None:
        self._observed, self._nearest = observed, nearest

    def add(self, step: OpenStep, name: str, collection: str, value: Array) -> None:
        """Add a summary, if it is saved at this step."""
        info = TensorInfo(name, collection, value.dtype.name, value.shape)
        level = step.level(info)
        if level != NOTHING:
            step.claim(info)[:] = summarize(value)
            step.add_more(info, value, level)
            self._observed.add(name)

    def numbers(self, step: OpenStep, collection: str, numbers: Mapping[str, float]) -> None:
        """Add numbers of one collection, by name."""
        for name, number in numbers.items():
            self.add(step, name, collection, np.asarray(number, np.float64))

    def clipping(self, step: OpenStep, optimizer: Any, value_of: Lookup) -> None:
        """Add the norm of all gradients, and what the optimizer's clipping leaves of it.

        Args:
            optimizer: Of Keras; it clips by at most one of three bounds.
            value_of: Has the gradients as they were before.
        """
        together: Any = getattr(optimizer, "global_clipnorm", None)
        each: Any = getattr(optimizer, "clipnorm", None)
        element: Any = getattr(optimizer, "clipvalue", None)
        rows = [row for row, info in enumerate(step.tensors) if info.collection == "gradients"]
        if together is each is element is None or not rows or not step.wants("optimizer"):
            return
        squares = {step.tensors[row].name: float(step.statistics_of(row)[SUM_SQ]) for row in rows}
        norm = math.sqrt(sum(squares.values()))
        numbers = {"gradient_norm_before_clipping": norm}
        if together is not None:
            numbers |= {"max_norm": float(together), "clipped_to": min(norm, float(together))}
        elif each is not None:
            left = math.sqrt(sum(min(one, float(each) ** 2) for one in squares.values()))
            numbers |= {"max_norm_of_each": float(each), "clipped_to": left}
        else:
            shares = {name: _share_below(value_of(name), float(element)) for name in squares}
            left = math.sqrt(sum(one * shares[name] for name, one in squares.items()))
            numbers |= {"clip_value": float(element), "clipped_to": left}
        named = {f"optimizer/{name}": number for name, number in numbers.items()}
        self.numbers(step, "optimizer", named)

    def losses(self, step: OpenStep, calls: Mapping[str, LossCall], value_of: Lookup) -> None:
        """Add what is known of the classes of losses.

        Args:
            calls: Of each loss, by its name without ``loss/``.
            value_of: Has the predictions and labels, arranged as the loss takes them.
        """
        for name, call in calls.items() if step.wants("classes") else ():
            prediction, label = value_of(f"prediction/{name}"), value_of(f"label/{name}")
            if prediction is None or label is None or not prediction.size:
                continue
            counts = confusion(call, prediction, label)
            if counts is not None and counts.ndim == 2:
                self.add(step, f"confusion/{name}", "classes", counts)
                counts = counts.sum(1)
            if counts is not None:
                self.add(step, f"class_count/{name}", "classes", counts)
            spread = relative_spread(call, prediction, label)
            if spread is not None:
                self.numbers(step, "classes", {f"spread/{name}": spread})
        for name, call in calls.items() if step.wants("log_partition") else ():
            logits = value_of(f"prediction/{name}")
            if call.function == CROSS_ENTROPY and logits is not None and logits.ndim > 1:
                found = {f"log_partition/{name}": log_partition(logits)} if logits.size else {}
                self.numbers(step, "log_partition", found)

    def samples(self, step: OpenStep, batches: Sequence[str], value_of: Lookup) -> None:
        """Add digests by which the samples of a batch are known again.

        Args:
            batches: The names of what the model was called with.
        """
        if not step.wants("samples"):
            return
        for name in batches:
            batch = value_of(name)
            is_data = batch is not None and batch.ndim >= 2 and batch.size
            if batch is not None and is_data and not NO_DATA.search(name.rpartition("/")[2]):
                found = sample_digests(batch)
                self.add(step, name.replace("batch", "sample", 1), "samples", found)
                known = name.partition("/")[2]
                self.numbers(step, "evaluations", self._nearest.add(step.mode, known, batch))
                return

    def compared(
        self,
        step: OpenStep,
        calls: Mapping[str, LossCall],
        batches: Sequence[str],
        value_of: Lookup,
    ) -> None:
        """Add how far predictions are off, and the labels of the nearest samples trained on."""
        given = [one for one in batches if not NO_DATA.search(one.rpartition("/")[2])]
        for name, call in calls.items() if given and step.wants("evaluations") else ():
            batch = value_of(given[0])
            prediction, label = value_of(f"prediction/{name}"), value_of(f"label/{name}")
            if batch is None or prediction is None or label is None:
                continue
            both = labels_and_predictions(call.function, prediction, label)
            if both is not None:
                found = self._nearest.labels.add(step.mode, name, batch, *both)
                self.numbers(step, "evaluations", found)

    def targets(
        self,
        step: OpenStep,
        calls: Mapping[str, LossCall],
        batches: Sequence[str],
        together: int | None,
        value_of: Lookup,
        compared: Mapping[str, float] = _NOTHING,
    ) -> None:
        """Add what targets show of the inputs: whether they are among them.

        Args:
            together: Of how many samples batch normalization took the statistics; ``None`` where
                there is none.
            compared: With how many targets a written loss compares each prediction, by the name of
                the loss.
        """
        if step.mode is not Mode.TRAIN or not step.wants("dependence"):
            return
        all_given = [value_of(one) for one in batches if not NO_DATA.search(one)]
        for name in dict.fromkeys((*calls, *compared)):
            label = value_of(f"label/{name}")
            given = all_given[0] if len(batches) == 1 and all_given else None
            if len(batches) > 1 and label is not None:  # as a decoder is given what it is to say
                given, label = _tokens([one for one in all_given if one is not None], label)
            # Nothing is differentiated here, so most are not known.
            found = np.full(len(DEPENDENCE), np.nan, np.float32)
            if given is not None and label is not None and given.ndim >= 2:
                found[4:8] = shifts(given, label)
                found[8:10] = correlation(given, label)
                found[13:16] = alignment(given, label)
                found[18:21] = pairing(given, label)
                if together is not None:
                    found[10] = together
            if given is not None:
                found[16:18] = neighbours(given)
            found[11] = compared.get(name, math.nan)
            # below 0 for what is not known: a nan would be one that training has made
            found = np.nan_to_num(found, nan=-1.0)
            if (found >= 0).any():
                self.add(step, f"dependence/{name}", "dependence", found)

    def padding(
        self,
        step: OpenStep,
        calls: Mapping[str, LossCall],
        batches: Sequence[str],
        value_of: Lookup,
    ) -> None:
        """Add which losses count targets of padding, and hardly any others."""
        if step.mode is not Mode.TRAIN or not step.wants("setup"):
            return
        for name, call in calls.items():
            row = step.rows.get(f"loss/{name}")
            if row is None or call.function not in (CROSS_ENTROPY, OF_PROBABILITIES):
                continue
            prediction, label = value_of(f"prediction/{name}"), value_of(f"label/{name}")
            if prediction is None or label is None:
                continue
            loss = scalar_value(step.statistics_of(row))
            all_tokens = [value_of(one) for one in batches if not NO_DATA.search(one)]
            if any(
                one is not None and counts_padding(call, one, prediction, label, loss)
                for one in all_tokens
            ):
                self.numbers(step, "setup", {f"setup/pads_targets/{name}": 1.0})


def sample_digests(batch: Array) -> Array:
    """Return the digests of the first samples, shape ``[n]``, uint64, as the hook on PyTorch does.

    Args:
        batch: Shape ``[samples, ...]``, at least two axes.
    """
    rows = batch[:MOST_SAMPLES].reshape(min(len(batch), MOST_SAMPLES), -1)
    rows = np.ascontiguousarray(rows[:, :: -(-rows.shape[1] // MOST_SAMPLE_ELEMENTS)])
    text = f"{batch.dtype.name}{list(batch.shape[1:])}"
    seed = np.uint64(digest(np.frombuffer(text.encode(), np.uint8)))
    return row_digests(rows) + seed  # modulo 2**64


def _tokens(given: Sequence[Array], target: Array) -> tuple[Array | None, Array]:
    """Return the input that targets are compared with, of several, and these, both as tokens.

    Either they are whole numbers of one shape: the first such input. Or one of all tokens is 1,
    inputs have shape ``[batch, length, tokens]`` and targets ``[batch, tokens, length]``: the last
    such input, which a decoder reads, and the numbers of tokens from 1 on, 0 where none is.
    """
    if target.dtype.kind in "iu":
        return next((one for one in given if one.shape == target.shape), None), target
    if target.ndim != 3:
        return None, target
    turned = target.swapaxes(1, 2)
    read = next((one for one in reversed(given) if one.shape == turned.shape), None)
    if read is None or not (_is_one_hot(read) and _is_one_hot(turned)):
        return None, target
    of_input, of_target = (np.where(one.any(-1), one.argmax(-1) + 1, 0) for one in (read, turned))
    return of_input, of_target


def _is_one_hot(values: Array) -> bool:
    """Return whether along the last axis one element is 1 at most, and all others are 0."""
    return bool(((values == 0) | (values == 1)).all() and (values.sum(-1) <= 1).all())


def shifts(given: Array, target: Array) -> Array:
    """Return how many targets are the input itself, or what comes one or two positions later.

    Args:
        given: Tokens, shape ``[batch, length]``.
        target: As many integers.

    Returns:
        Shares of those above 0, shape ``[4]``: for no shift, one and two, and for one
        where the targets lie time by time. All nan for what is no such target.
    """
    are_tokens = given.dtype.kind in "iu" and target.dtype.kind in "iu" and given.ndim == 2
    if not are_tokens or given.shape[1] < 4 or target.size != given.size:
        return np.full(4, np.nan)
    here = target.reshape(given.shape)
    turned = target.reshape(given.shape[::-1]).T
    found = [_same(given, here, by) for by in (0, 1, 2)]
    return np.array([*found, _same(given, turned, 1)])


def _same(given: Array, target: Array, by: int) -> float:
    there = target[:, : given.shape[1] - by]
    counts = np.greater(there, 0)  # 0 is padding, and what is below is left out by the loss
    return float((given[:, by:] == there)[counts].mean()) if counts.any() else math.nan


#: A parameter of more elements than their product is sampled by so many runs of so many elements.
_RUNS, _RUN_LENGTH = 1024, 256


def sampled(value: Array) -> Floats:
    """Return a copy of some elements: all, or evenly spaced runs of neighbours; one axis."""
    flat = value.reshape(-1)
    if flat.size > _RUNS * _RUN_LENGTH:
        every = flat.size // _RUNS
        flat = flat[: _RUNS * every].reshape(_RUNS, every)[:, :_RUN_LENGTH]
    found: Floats = flat.astype(np.float32 if value.dtype.itemsize < 8 else np.float64)
    return found.reshape(-1)


def update_ratio(before: Floats, after: Floats) -> float:
    """Return the l2 norm of a change over that of what it changed; 1 for what was zero before."""
    size, change = (float(np.linalg.norm(each)) for each in (before, after - before))
    return change / size if size else float(change > 0)


#: So many rows of a table are sampled, evenly spaced; so many of these are compared.
_MOST_ROWS, _MOST_COMPARED = 4096, 512


def row_norms(weight: Array, gradient: Array | None) -> Array:
    """Return what the rows of an embedding are like.

    Args:
        weight: Shape ``[rows, width]``, floating, at least one element.
        gradient: The same shape, or ``None`` where it is not known.

    Returns:
        Shape ``[7]``, float32, of sampled rows: the smallest l2 norm, its quantiles at 0.05, 0.5
        and 0.95 (the nearest rank), the largest; the mean cosine of all pairs of some of them, nan
        if fewer than two are not zero; and the share of rows whose gradient is zero in every
        element, nan if that is not known.
    """
    rows = weight[:: -(-len(weight) // _MOST_ROWS)].astype(np.float32)
    norms = np.linalg.norm(rows, axis=1)
    ascending = np.sort(norms)
    ranks = [round(fraction * (len(norms) - 1)) for fraction in (0, 0.05, 0.5, 0.95, 1)]
    every = -(-len(rows) // _MOST_COMPARED)
    some, sizes = rows[::every], norms[::every]
    units = some[sizes > 0] / sizes[sizes > 0, None]
    number = len(units)
    cosine = math.nan
    if number > 1:
        cosine = float((np.square(units.sum(0)).sum() - number) / (number * (number - 1)))
    zero_share = math.nan
    if gradient is not None and gradient.shape == weight.shape:
        largest = np.abs(gradient[:: -(-len(weight) // _MOST_ROWS)]).max(1)
        zero_share = float((largest == 0).mean())
    return np.array([*ascending[ranks], cosine, zero_share], np.float32)


def _share_below(gradient: Array | None, most: float) -> float:
    """Return which part of the squares of a gradient is left once its elements are clipped."""
    if gradient is None:
        return 1.0
    values = sampled(gradient).astype(np.float64)
    squares = float((values**2).sum())
    return float((np.clip(values, -most, most) ** 2).sum()) / squares if squares else 1.0
