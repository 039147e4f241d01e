"""Loss functions that a script writes out, known by the graph of what they computed.

Of ``((model(x) - y) ** 2).mean()`` torch calls no loss function. Its graph has what the difference
was, so that with the output of the model the target is known, too. Known are squares and magnitudes
of differences from an output, log-probabilities of labels, and the cross-entropy of two classes;
and what a loss function returned for each element, ``reduction="none"``.
Only what reduces and scales may stand between them and the loss: a sum of several terms is no such
loss. Nothing waits for an accelerator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from .autograd import operation, saved_as_is
from .events import LossCall
from .internals import isolated_compute
from .tensors import tensors_in

#: Larger outputs are not held until the loss of them is differentiated.
MOST_ELEMENTS = 1 << 20
# What the numbers of an output may pass through and stay in their order.
_RESHAPED = ("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "to_copy", "alias")
# So near to a whole number a target is one: it is computed from the difference.
_ROUNDED = 1e-5

# What torch's loss functions leave in a graph, where they return a loss for each element.
_FUNCTIONS = (
    *("mse_loss", "smooth_l1_loss", "huber_loss", "nll_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
_NOT_REDUCED = 0

_Compared = tuple[str, torch.Tensor, torch.Tensor]


class Output(NamedTuple):
    """A tensor that a model returned, without the graph that it came from.

    Args:
        number: Of the operation that made it, which no other of the thread has.
        place: Which of what that made it is.
        value: Shares the memory of the tensor.
    """

    number: int
    place: int
    value: torch.Tensor


def outputs_in(output: object) -> list[Output]:
    """Return the tensors of a model's output of which a script may write out a loss."""
    return [
        Output(one.grad_fn._sequence_nr(), one.output_nr, one.detach())
        for _, one in tensors_in(output)
        if type(one) is torch.Tensor and one.grad_fn is not None and one.numel() <= MOST_ELEMENTS
    ]


def written_loss(loss: torch.Tensor, outputs: Sequence[Output]) -> LossCall | None:
    """Return the call of torch's loss function that a script wrote out; ``None`` for others.

    Args:
        loss: Of which no gradients were computed yet.
        outputs: Of the models that ran for it.

    Returns:
        Its ``reduction`` is ``mean`` where the loss is that of all elements, else ``none``.
    """
    node, reductions = loss.grad_fn, []
    while node is not None and (_is_reduction(node) or is_reshape(node)):
        if operation(node) != "neg" and not is_reshape(node):
            reductions.append(operation(node))
        (node,) = _producers(node)
    if node is None:
        return None
    with isolated_compute(loss.device.type):
        found = _of_function(node) or _of_difference(node, outputs)
        found = found or _of_labels(node) or _of_two_classes(node)
    if found is None:
        return None
    name, prediction, target = found
    reduction = "mean" if {*reductions} == {"mean"} else "none"
    keywords = {"reduction": reduction}
    return LossCall(name, (prediction, target), keywords, is_written_out=True)


def _producers(node: Any) -> list[Any]:
    return [producer for producer, _ in node.next_functions if producer is not None]


def _is_reduction(node: Any) -> bool:
    """Return whether a node makes one number of many, turns its sign, or scales all alike."""
    name = operation(node)
    if name in ("mul", "div"):
        factor = saved_as_is(node, "other")
        return len(_producers(node)) == 1 and factor is not None and factor.numel() == 1
    return name in ("mean", "sum", "neg")


def _of_function(node: Any) -> _Compared | None:
    """Return what torch's loss function was given that returned a loss for each element."""
    name = operation(node)
    if name not in _FUNCTIONS or getattr(node, "_saved_reduction", _NOT_REDUCED) != _NOT_REDUCED:
        return None
    given, target = saved_as_is(node, "self"), saved_as_is(node, "target")
    weights = [getattr(node, f"_saved_{one}", None) for one in ("weight", "pos_weight")]
    if given is None or target is None or any(one is not None for one in weights):
        return None
    # Targets that are left out make a mean one of others; what lies elsewhere is not waited for.
    ignored = getattr(node, "_saved_ignore_index", None)
    if ignored is not None and (not target.is_cpu or bool((target == ignored).any())):
        return None
    return name, given, target


def _of_difference(node: Any, outputs: Sequence[Output]) -> _Compared | None:
    name, producers = operation(node), _producers(node)
    is_square = (name == "pow" and node._saved_exponent == 2) or (
        name == "mul" and len(producers) == 2 and producers[0] is producers[1]
    )
    if not (is_square or name == "abs"):
        return None
    subtraction, difference = producers[0], saved_as_is(node, "self")
    if operation(subtraction) != "sub" or subtraction._saved_alpha != 1 or difference is None:
        return None
    edges = [edge for edge in subtraction.next_functions if edge[0] is not None]
    for output in outputs if len(edges) == 1 else ():
        if output.value.numel() != difference.numel() or not comes_from(edges[0], output):
            continue
        prediction = output.value.reshape(difference.shape)
        is_first = subtraction.next_functions[0][0] is not None
        target = prediction + (-difference if is_first else difference)
        whole = target.round()
        target = torch.where((target - whole).abs() < _ROUNDED, whole, target)
        return "mse_loss" if is_square else "l1_loss", prediction, target
    return None


def comes_from(edge: tuple[Any, int], output: Output) -> bool:
    """Return whether what an edge leads to is an output, perhaps in another shape."""
    node, index = edge
    while (node._sequence_nr(), index) != (output.number, output.place):
        if not is_reshape(node):
            return False
        node, index = node.next_functions[0]
    return True


def is_reshape(node: Any) -> bool:
    """Return whether an operation leaves all numbers in their order."""
    return operation(node) in _RESHAPED


def _of_labels(node: Any) -> _Compared | None:
    """Return log-probabilities, shape ``[rows, classes]``, and the labels they were taken of."""
    path = [node]
    while operation(path[-1]) in ("squeeze", "log", "gather", "index"):
        path.append(_producers(path[-1])[0])
    names = [operation(one) for one in path]
    chosen = [one for one in path if operation(one) in ("gather", "index")]
    known = ["softmax" if "log" in names else "log_softmax"]
    if names[-1:] != known or len(chosen) != 1 or names.count("log") > 1:
        return None
    given = saved_as_is(path[-1], "result")
    is_gather = operation(chosen[0]) == "gather"
    labels = saved_as_is(chosen[0], "index") if is_gather else _second_index(chosen[0])
    if given is None or labels is None or given.dim() != 2 or labels.numel() != len(given):
        return None
    return "nll_loss", given.log() if "log" in names else given, labels.reshape(-1)


def _second_index(node: Any) -> torch.Tensor | None:
    """Return the labels of ``[arange(rows), labels]``."""
    indices = [one.data for one in node._raw_saved_indices]
    is_pair = len(indices) == 2 and all(type(one) is torch.Tensor for one in indices)
    return indices[1] if is_pair and indices[0].shape == indices[1].shape else None


def _of_two_classes(node: Any) -> _Compared | None:
    """Return the probabilities and labels of ``y * log(p) + (1 - y) * log(1 - p)``."""
    if operation(node) != "add" or len(_producers(node)) != 2:
        return None
    terms = [_weighted_logarithm(term) for term in _producers(node)]
    found = [term for term in terms if term is not None]
    if len(found) != 2 or sorted(is_other for _, _, is_other in found) != [False, True]:
        return None
    ((given, labels, _),) = (term for term in found if not term[2])
    return "binary_cross_entropy", given, labels


def _weighted_logarithm(node: Any) -> tuple[torch.Tensor, torch.Tensor, bool] | None:
    """Return what a logarithm is taken of, by what it is multiplied, and if it is 1 minus that."""
    logarithm = _producers(node)[0] if len(_producers(node)) == 1 else None
    if operation(node) != "mul" or logarithm is None or operation(logarithm) != "log":
        return None
    given = saved_as_is(logarithm, "self")
    weights = saved_as_is(node, "other" if node.next_functions[0][0] is logarithm else "self")
    if given is None or weights is None or given.shape != weights.shape:
        return None
    return given, weights, any(operation(one) == "rsub" for one in _first_producers(logarithm))


def _first_producers(node: Any, most: int = 3) -> Iterator[Any]:
    """Yield the operations right before one, as an epsilon is added or a range is held."""
    for _ in range(most):
        producers = _producers(node)
        if len(producers) != 1:
            return
        node = producers[0]
        yield node
        if operation(node) not in ("add", "clamp"):
            return
