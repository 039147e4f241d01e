"""Which pairs a loss pulls together and pushes apart, as its graph tells of a model's outputs.

Losses of triplets and pairs are distances of outputs, with a sign: one that grows with a distance
pulls together. The graph is looked through from the loss on, as far as each operation only grows,
or only falls, with what it is given; of most losses that is one operation. Where samples are chosen
by what the model makes of them, as the hardest ones of a batch, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ....numerics.measures import Floats
from ...pairs import MOST_LOOKS, MOST_PAIRS, SETTLED, SETTLING, Pairs, elements
from ..autograd import operation, saved_as_is
from ..internals import in_transform, isolated_compute, output_shape
from ..observe import Observer
from ..tensors import readable, to_numpy

_COLLECTION = "setup"
#: At most so many outputs are noted until gradients are computed, of at most so many elements, and
#: so many operations looked through from one module to the next.
_MOST_OUTPUTS, _MOST_ELEMENTS, _MOST_BETWEEN = 64, 1 << 22, 6
#: So many steps are looked at in which there are no pairs.
_MOST_WITHOUT = 32
#: At most so many operations of a loss are looked through.
_MOST_OPERATIONS = 200
#: What grows with what it is given, of numbers from 0 up; and what picks samples by their values.
_GROWS = frozenset({
    *("mean", "sum", "relu", "clamp", "clamp_min", "softplus", "threshold", "sqrt", "exp", "log"),
    *("log1p", "pow", "norm", "linalg_vector_norm", "view", "reshape_alias", "unsafe_view"),
    *("squeeze", "unsqueeze", "alias", "clone", "to_copy", "expand", "log_sigmoid", "stack", "cat"),
    "abs",
})  # fmt: skip
_SIZES = ("norm", "linalg_vector_norm", "abs")
_PICKS = frozenset(
    {"index", "gather", "index_select", "topk", "sort", "max", "min", "amax", "amin"}
)
_PICKS |= {"masked_select", "masked_fill", "cdist", "take_along_dim"}
# What an output may go through and be the same samples in the same order.
_KEEPS = frozenset({"squeeze", "unsqueeze", "alias", "clone", "to_copy", "div", "mul"})
_PARTS = frozenset({"slice", "select", "split", "split_with_sizes", "unbind", "unsafe_split"})

Rows = npt.NDArray[np.int64]


class _Picked(Exception):
    """Samples are chosen by what the model makes of them."""


class _Output(NamedTuple):
    """What a module made of samples as they came.

    Args:
        name: Of the module.
        samples: Shape ``[rows, ...]``.
        made: Of them, without the graph; of the same rows.
    """

    name: str
    samples: torch.Tensor
    made: torch.Tensor

    def of(self, rows: Rows, *, made: bool) -> Floats:
        """Return some rows of what was made, or of the samples, shape ``[rows, elements]``."""
        return elements(to_numpy(self.made if made else self.samples)[rows])


class _Term(NamedTuple):
    """Two outputs, row by row, and how a loss grows with their distance: above 0 it pulls."""

    first: tuple[_Output, Rows]
    second: tuple[_Output, Rows]
    sign: Floats


_Outputs = dict[tuple[int, int], _Output]


class PulledPairs:
    """Observes it in the collection ``setup``, of models that train; on the host only.

    Args:
        observer: Notes it.
        observe_later: Has steps to come observed in full.
    """

    def __init__(self, observer: Observer, observe_later: Callable[[range], None]) -> None:
        self._observer, self._observe_later = observer, observe_later
        self._outputs: _Outputs = {}
        self._pairs: dict[str, Pairs] = {}
        self._num_looks = 0

    def listens(self, step: OpenStep) -> bool:
        """Return whether outputs are noted at a step: at each of the first that are in full."""
        most = MOST_LOOKS if self._pairs else _MOST_WITHOUT
        return step.mode is Mode.TRAIN and self._num_looks < most

    def returned(
        self,
        step: OpenStep,  # noqa: ARG002
        module: torch.nn.Module,  # noqa: ARG002
        name: str,
        given: tuple[tuple[object, ...], dict[str, object]],
        output: object,
    ) -> None:
        """A module returned: note what it made of samples."""
        inputs, keywords = given
        if len(inputs) != 1 or keywords or len(self._outputs) >= _MOST_OUTPUTS:
            return
        if type(output) is not torch.Tensor or not isinstance(inputs[0], torch.Tensor):
            return
        # Of most modules the input is what another made of the same samples.
        source = self._source(inputs[0]) if inputs[0].requires_grad else inputs[0]
        node, samples, made = output.grad_fn, readable(source), readable(output)
        if node is None or samples is None or made is None:
            return
        is_small = samples.is_cpu and samples.numel() <= _MOST_ELEMENTS
        # One number of each sample is a score.
        is_of_rows = samples.dim() > 1 and made.dim() > 1 and made.shape[-1] > 1
        if is_small and is_of_rows and len(samples) == len(made) and samples.is_floating_point():
            key = node._sequence_nr(), output.output_nr
            self._outputs[key] = _Output(name, samples.detach(), made.detach())

    def _source(self, given: torch.Tensor) -> torch.Tensor | None:
        """Return the samples of which other modules made this, row by row; ``None`` if unknown."""
        node, number = given.grad_fn, given.output_nr
        for _ in range(_MOST_BETWEEN):
            if node is None:
                break
            if (known := self._outputs.get((node._sequence_nr(), number))) is not None:
                return known.samples
            parents = [(one, nr) for one, nr in node.next_functions if one is not None]
            if len(parents) != 1:
                break
            node, number = parents[0]
        return None

    def forget(self, *_: object) -> None:
        """Hold no outputs."""
        self._outputs = {}

    def before_backward(self, roots: object) -> None:
        """Gradients are about to be computed: note which pairs the loss pulls and pushes."""
        outputs, self._outputs = self._outputs, {}
        if not outputs or type(roots) is not torch.Tensor or roots.numel() != 1 or in_transform():
            return
        self._num_looks += 1
        # A graph may be of whatever kind.
        with isolated_compute(roots.device.type), suppress(Exception):
            self._add(list(_terms(roots.grad_fn, outputs)))

    def _add(self, terms: list[_Term]) -> None:
        by_pair: dict[tuple[int, bytes, int, bytes], list[_Term]] = {}
        for term in terms:
            a, b = sorted((id(one), rows.tobytes()) for one, rows in (term.first, term.second))
            by_pair.setdefault((*a, *b), []).append(term)
        for alike in by_pair.values():
            (one, rows), (other, others) = alike[0].first, alike[0].second
            pulls = sum(np.maximum(term.sign, 0) for term in alike)
            pushes = sum(np.maximum(-term.sign, 0) for term in alike)
            is_of_one = one.name == other.name and one.samples.shape[1:] == other.samples.shape[1:]
            if not is_of_one or len(rows) != len(others):
                continue
            is_known = np.broadcast_to((pulls > 0) != (pushes > 0), len(rows))
            is_pulled = np.broadcast_to(pulls > 0, len(rows))[is_known]
            is_pulled = is_pulled[:MOST_PAIRS]
            rows, others = rows[is_known][:MOST_PAIRS], others[is_known][:MOST_PAIRS]
            first, second = one.of(rows, made=False), other.of(others, made=False)
            made = np.linalg.norm(one.of(rows, made=True) - other.of(others, made=True), axis=1)
            self._pairs.setdefault(one.name, Pairs()).add(first, second, is_pulled, made)
        for pairs in self._pairs.values():
            pairs.step_ends()

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self.forget()
        turned = [name for name, pairs in self._pairs.items() if pairs.are_turned]
        if turned and step.mode_step < SETTLED:
            self._observe_later(SETTLING)
        elif turned and step.wants(_COLLECTION):
            numbers = {f"setup/turned/{name}": 1.0 for name in turned}
            self._observer.numbers(step, numbers, _COLLECTION)


def _terms(root: Any, outputs: _Outputs) -> Iterator[_Term]:
    """Yield the distances that a loss is made of.

    Raises:
        _Picked: Samples are picked by their values.
    """
    # With each operation stands how the loss grows with it, and whether by its size alone.
    stack: list[tuple[Any, Floats, bool]] = [(root, np.ones(1), False)]
    left = _MOST_OPERATIONS
    while stack and left:
        node, sign, is_size = stack.pop()
        left -= 1
        if node is None:
            continue
        name = operation(node)
        if name in _PICKS:
            raise _Picked
        edges = list(node.next_functions)
        ends = _ends(node, name, outputs)
        if ends is not None:
            # A product is a similarity, and falls with the distance.
            if name == "mul" or is_size:
                yield _Term(*ends, sign if name == "sub" else -sign)
        elif name in ("add", "sub", "rsub", "neg", "where", "minimum", "maximum"):
            signs = [sign] * len(edges)
            if name == "sub" and len(edges) > 1:
                signs[1] = -sign
            if name in ("neg", "rsub"):
                signs[0] = -sign
            if name == "where":
                condition = saved_as_is(node, "condition")
                if condition is None:
                    continue
                chosen = to_numpy(condition).reshape(-1).astype(np.float64)
                signs = [sign * chosen, sign * (1 - chosen)]
            stack += [(edge[0], one, is_size) for edge, one in zip(edges, signs, strict=False)]
        elif name in ("mul", "div"):
            stack += [(one, by, is_size or is_square) for one, by, is_square in _scaled(node, sign)]
        elif name in _GROWS:
            is_even = name == "pow" and node._saved_exponent % 2 == 0
            stack += [(edge[0], sign, is_size or is_even or name in _SIZES) for edge in edges]


def _scaled(node: Any, sign: Floats) -> Iterator[tuple[Any, Floats, bool]]:
    """Yield what a product or a quotient grows with, how, and whether it is a square.

    A divisor that is no constant is taken for a norm.
    """
    producers = [one for one, _ in node.next_functions]
    known = [one for one in producers if one is not None]
    if len(known) == 2:
        is_square = known[0] is known[1]
        if is_square or operation(node) == "div":
            yield known[0], sign, is_square
        return
    is_first = bool(producers) and producers[0] is not None
    factor = saved_as_is(node, "other" if is_first else "self")
    if factor is None or not known:
        return
    weights = to_numpy(factor).reshape(-1).astype(np.float64)
    if weights.size > 1 and sign.size not in (1, weights.size):
        return
    if operation(node) == "div":
        weights = np.sign(weights)
    yield known[0], sign * weights, False


def _ends(
    node: Any, name: str, outputs: _Outputs
) -> tuple[tuple[_Output, Rows], tuple[_Output, Rows]] | None:
    """Return the two outputs that an operation compares; ``None`` if it compares none."""
    if name not in ("sub", "mul") or len(node.next_functions) != 2:
        return None
    first, second = (_samples_of(one, index, outputs) for one, index in node.next_functions)
    if first is None or second is None:
        return None
    is_same = first[0] is second[0] and np.array_equal(first[1], second[1])
    return None if is_same else (first, second)


def _samples_of(node: Any, index: int, outputs: _Outputs) -> tuple[_Output, Rows] | None:
    """Return of which output, and of which of its rows, a tensor is; in its order."""
    path: list[tuple[Any, int]] = []
    while node is not None and (node._sequence_nr(), index) not in outputs:
        name = operation(node)
        is_part = name in _PARTS or name in ("view", "reshape_alias")
        if not (name in _KEEPS or is_part) or len(path) > 8:
            return None
        if is_part:
            path.append((node, index))
        node, index = node.next_functions[0]
    if node is None:
        return None
    output = outputs[node._sequence_nr(), index]
    rows = np.arange(len(output.samples))
    for part, which in reversed(path):
        rows = _part(rows, part, which)
    return (output, rows) if rows.ndim == 1 else None


def _part(rows: Rows, node: Any, which: int) -> Rows:
    """Return what an operation leaves of rows; the last axis of what it is given is no row."""
    name = operation(node)
    if name in ("view", "reshape_alias"):
        viewed: Rows = rows.reshape(output_shape(node)[:-1])
        return viewed
    axis: int = node._saved_dim
    if axis >= rows.ndim:
        raise _Picked  # elements of outputs, and no rows
    size = rows.shape[axis]
    if name in ("select", "unbind"):
        at = [which if name == "unbind" else _place(node._saved_index, size)]
        selected: Rows = rows.take(at, axis).squeeze(axis)
        return selected
    if name == "slice":
        start, end = _place(node._saved_start, size), _place(node._saved_end, size)
        return rows.take(np.arange(start, end, int(node._saved_step)), axis)
    sizes: list[int] = [node._saved_split_size] * (which + 1) if "sizes" not in name else []
    sizes = sizes or list(node._saved_split_sizes)
    first = sum(sizes[:which])
    return rows.take(np.arange(first, min(first + sizes[which], size)), axis)


def _place(index: int, size: int) -> int:
    """Return a place on an axis; one from the end is held without its sign."""
    index = index - 2**64 if index >= 2**63 else index
    return min(max(index + size if index < 0 else index, 0), size)
