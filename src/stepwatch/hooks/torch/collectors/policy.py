"""What the losses of policies and value functions are made of, as their graphs hold it.

Scripts write these losses out, and log little of what they compute on the way. But the graph that
``backward()`` is about to use still holds the ratio of new to old probabilities, the range that it
is clipped to, the advantages, the probabilities of all actions, and how far values are from their
targets. Only the elementwise part of the graph is looked through, from the loss down to the first
operation of a model: of any other loss that is an operation or two. Nothing is differentiated, and
nothing is held once ``backward()`` has begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...script import main_script, next_states, returns_of_script, script_frames, variables_of
from ...terminals import (
    are_of_episodes,
    cut_offs_for_ends,
    ends_seen,
    forgotten_ends,
    has_ends,
    unread_ends,
    unread_fields,
    unstored_ends,
)
from ..autograd import operation
from ..internals import in_transform, isolated_compute
from ..models import Names, unwrap
from ..observe import Observer
from ..tensors import PLAIN, OwnParameters, readable, to_numpy, unsupported
from .variables import bootstraps, ignores_ends, rewarded_by

_COLLECTION = "policy"
#: Of the graph of a loss at most so many operations are looked through.
MOST_OPERATIONS = 160
#: Probabilities of at most so many rows, and so many elements, are read.
MOST_ROWS, MOST_ELEMENTS = 256, 1 << 20
#: Values are looked for among so many outputs, of at most so many elements.
_MOST_OUTPUTS, _MOST_OUTPUT = 32, 1 << 16
#: Of a network and its copy so many parameters are compared, of at most so many elements.
_MOST_PARAMETERS, _MOST_PARAMETER = 4, 1 << 14

# What only gives its input another shape, or takes some of it.
_SHAPES = frozenset({
    *("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "expand", "select", "slice"),
    *("alias", "clone", "to_copy", "transpose", "permute", "t", "flatten"),
})  # fmt: skip
_TAKES = frozenset({"gather", "index", "index_select", "take_along_dim"})
_SUMS = frozenset({"mean", "sum", "masked_select", "nan_to_num", "stack", "cat", "where"})
_SUMS |= frozenset({"masked_fill", "unbind", "split", "nanmean"})
_REGRESSIONS = frozenset({"mse_loss", "smooth_l1_loss", "huber_loss"})
_ARITHMETIC = frozenset({"neg", "add", "sub", "rsub", "mul", "div", "maximum", "minimum"})
_PASSED = _SHAPES | _TAKES | _SUMS | _ARITHMETIC
# Between a log-probability and what normalizes the probabilities, at most so many of these.
_MOST_BETWEEN = 24
_TAKES_CLASSES = _TAKES | {"nll_loss"}
_TO_PROBABILITIES = _SHAPES | _TAKES_CLASSES
_TO_PROBABILITIES |= {"sub", "rsub", "add", "neg", "clamp", "log", "div", "stack", "where"}
# What keeps the order of the elements.
_KEEPS_ORDER = _SHAPES - {"transpose", "permute", "t"}


def _saved(node: Any, name: str) -> Any:
    """Return what a node saved; ``None`` for what is not there, and for what only wraps a tensor.

    To compute with a wrapper, such as a part of a tensor that is sharded, outside of its dispatch
    reads memory that it does not have.
    """
    with suppress(RuntimeError, AttributeError):  # changed in place, freed, or never saved
        value = getattr(node, f"_saved_{name}")
        is_wrapper = isinstance(value, torch.Tensor) and type(value) not in PLAIN
        return None if is_wrapper else value
    return None


def _inputs(node: Any) -> list[Any]:
    return [producer for producer, _ in node.next_functions]


def _factor(node: Any) -> tuple[Any, torch.Tensor] | None:
    """Return what a node multiplies by a constant, and the constant; ``None`` if it does not."""
    inputs = _inputs(node)
    if len(inputs) != 2 or (inputs[0] is None) == (inputs[1] is None):
        return None
    is_first = inputs[0] is None
    constant = _saved(node, "self" if is_first else "other")
    if not isinstance(constant, torch.Tensor):
        return None
    return inputs[1 if is_first else 0], constant.detach()


def _sign(constant: object) -> int:
    """Return 1 or -1 where a constant has no element of the other sign, else 0."""
    if isinstance(constant, (int, float)):
        return (constant > 0) - (constant < 0)
    if not isinstance(constant, torch.Tensor) or not constant.numel() or not constant.is_cpu:
        return 1  # of what lies on an accelerator nothing is waited for: most are masks
    least, most = constant.detach().aminmax()
    return 1 if least >= 0 else -int(most <= 0)


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The clipped objective of PPO and GRPO.

    Schulman and others: Proximal policy optimization algorithms (2017): the loss is minus the
    smaller of ``ratio * advantage`` and ``clip(ratio) * advantage``.

    Args:
        ratio: Of new to old probabilities, or, where the loss has that, of old to new, any shape.
        least: It is clipped to at least this.
        most: And at most this.
        advantage: What the ratio is multiplied by; ``None`` if that is not known.
        is_minimized: Whether the loss falls where actions with a positive advantage become more
            likely, and clipping bounds that; ``None`` if it is not known.
    """

    ratio: torch.Tensor
    least: float
    most: float
    advantage: torch.Tensor | None
    is_minimized: bool | None


@dataclass(slots=True)
class Regression:
    """Predictions that are compared with targets.

    Args:
        prediction: The operation that made what was predicted.
        values: What was predicted; ``None`` if only the difference is known.
        target: Its target, likewise.
        error: Prediction minus target.
        through_target: The operation that made the target, where that has a gradient, too.
    """

    prediction: Any
    values: torch.Tensor | None
    target: torch.Tensor | None
    error: torch.Tensor
    through_target: Any = None

    @property
    def takes_an_action(self) -> bool:
        """Whether of each row of an output one element is taken, as of the values of actions."""
        return _taken(self.prediction) is not None


@dataclass(slots=True)
class Parts:
    """What was found in the graph of a loss.

    Args:
        surrogates: Clipped objectives.
        log_probabilities: Of actions, what they are multiplied by, and the sign by which the loss
            holds that; 0 if unknown.
        regressions: Of values on targets.
    """

    surrogates: list[Surrogate] = field(default_factory=list)
    log_probabilities: list[tuple[Any, torch.Tensor, int]] = field(default_factory=list)
    regressions: list[Regression] = field(default_factory=list)
    probabilities: torch.Tensor | None = None


def parts_of(loss: torch.Tensor) -> Parts:
    """Return what is found of policies and values in the graph of a loss, which is not freed."""
    found = Parts()
    seen: set[Any] = set()
    stack: list[tuple[Any, int]] = [(loss.grad_fn, 1)]
    while stack and len(seen) < MOST_OPERATIONS:
        node, sign = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = operation(node)
        if name in _REGRESSIONS or name == "pow":
            regression = _regression(node, name)
            if regression is not None:
                found.regressions.append(regression)
            continue
        if name in ("maximum", "minimum"):
            surrogate, exponential = _surrogate(node, name, sign)
            if surrogate is not None:
                found.surrogates.append(surrogate)
                found.probabilities = _either(found.probabilities, exponential)
                continue
        if name not in _PASSED:
            continue
        if not found.log_probabilities and (terms := _terms(node, sign)):
            found.log_probabilities, found.probabilities = _one_by_one(terms)
            if found.log_probabilities:
                continue
        stack += _below(node, name, sign, found)
    return found


def _terms(node: Any, sign: int) -> list[tuple[Any, int]]:
    """Return what a node puts together or adds up, in order, with signs; nothing if it is little.

    A script that goes through the steps of an episode stacks what each gives, or adds it to a sum.
    """
    name = operation(node)
    if name in ("stack", "cat"):
        found = [(producer, sign) for producer in _inputs(node)]
    else:
        found = []
        while name in ("add", "sub") and len(_inputs(node)) == 2 and len(found) < MOST_ROWS:
            node, term = _inputs(node)
            if term is not None:
                found.append((term, -sign if name == "sub" else sign))
            name = operation(node) if node is not None else ""
        found = [(node, sign), *reversed(found)] if node is not None else found[::-1]
    return found if LEAST_RETURNS <= len(found) <= MOST_ROWS else []


def _one_by_one(
    terms: Sequence[tuple[Any, int]],
) -> tuple[list[tuple[Any, torch.Tensor, int]], torch.Tensor | None]:
    """Return log-probabilities of single actions and their factors as if they were one tensor.

    Returns:
        As ``Parts`` has them; nothing if not all terms are such.
    """
    factors, rows, signs = [], [], set()
    for node, sign in terms:
        while node is not None and operation(node) in ("neg", "rsub", *_SHAPES):
            sign = sign if operation(node) in _SHAPES else -sign
            node = _inputs(node)[0]
        pair = _factor(node) if node is not None and operation(node) == "mul" else None
        if pair is None or pair[1].numel() != 1:
            return [], None
        producer, factor = pair
        while producer is not None and operation(producer) == "neg":
            sign, producer = -sign, _inputs(producer)[0]
        row = _probabilities(producer, through_taking=True)
        if row is None:
            return [], None
        factors.append(factor.reshape(()))
        rows.append(row.reshape(-1))
        signs.add(sign * _sign_of_logarithm(producer))
    if len(signs) > 1 or len({(row.shape, row.dtype) for row in rows}) > 1:
        return [], None
    return [(terms[0][0], torch.stack(factors), *signs)], torch.stack(rows)


def _below(node: Any, name: str, sign: int, found: Parts) -> Iterator[tuple[Any, int]]:
    """Yield what a node is made of, with the sign by which the loss holds it; 0 if unknown."""
    if name == "mul" and (pair := _factor(node)) is not None:
        producer, constant = pair
        if constant.numel() > 1:
            probabilities = _probabilities(producer, through_taking=True)
            if probabilities is not None:
                sign *= _sign_of_logarithm(producer)
                found.log_probabilities.append((producer, constant, sign))
                found.probabilities = _either(found.probabilities, probabilities)
                return
        yield producer, sign * _sign(constant)
        return
    if name in ("neg", "rsub"):
        sign = -sign
    elif name == "div":
        sign *= _sign(_saved(node, "other"))
    for index, producer in enumerate(_inputs(node)):
        yield producer, -sign if name == "sub" and index else sign


def _either(known: torch.Tensor | None, other: torch.Tensor | None) -> torch.Tensor | None:
    return other if known is None else known


def _surrogate(node: Any, name: str, sign: int) -> tuple[Surrogate | None, torch.Tensor | None]:
    """Return the clipped objective that a maximum or minimum is of, and the probabilities in it."""
    plain = clipped = None
    for producer in _inputs(node):
        branch = _branch(producer)
        if branch is not None and branch[1] is None:
            plain = branch
        elif branch is not None:
            clipped = branch
    if plain is None or clipped is None or clipped[1] is None:
        return None, None
    exponential, _, advantage = plain
    ratio, (least, most) = _saved(exponential, "result"), clipped[1]
    if not isinstance(ratio, torch.Tensor):
        return None, None
    is_minimized = None
    if sign:
        is_minimized = (sign > 0) is (name == "maximum") and not _is_inverted(exponential)
    if advantage is not None and name == "maximum":
        advantage = -advantage
    probabilities = _probabilities(_inputs(exponential)[0])
    return Surrogate(ratio.detach(), least, most, advantage, is_minimized), probabilities


def _is_inverted(exponential: Any) -> bool:
    """Return whether a ratio is of old to new probabilities: exp(old - new)."""
    node, is_negative = _inputs(exponential)[0], False
    while node is not None and operation(node) in (_SHAPES | {"neg", "sum"}):
        is_negative ^= operation(node) == "neg"
        node = _inputs(node)[0]
    if node is None or operation(node) not in ("sub", "rsub"):
        return False
    inputs = _inputs(node)
    is_turned = operation(node) == "rsub" or (inputs[0] is None and len(inputs) > 1)
    return is_turned != is_negative


_Branch = tuple[Any, "tuple[float, float] | None", "torch.Tensor | None"]


def _branch(node: Any) -> _Branch | None:
    """Return the exponential at the end of a branch, its range if clipped, and its factor."""
    factor: torch.Tensor | None = None
    limits = None
    is_negative = False
    for _ in range(12):
        if node is None:
            return None
        name = operation(node)
        if name == "exp":
            factor = -factor if factor is not None and is_negative else factor
            return node, limits, factor
        if name == "clamp" and limits is None:
            limits = _limits(node)
            if limits is None:
                return None
        elif name == "neg":
            is_negative = not is_negative
        elif name == "mul" and (pair := _factor(node)) is not None:
            producer, constant = pair
            # of several the largest: a coefficient is one number
            if factor is None or constant.numel() > factor.numel():
                factor = constant
            node = producer
            continue
        elif name not in _SHAPES:
            return None
        node = _inputs(node)[0]
    return None


def _limits(node: Any) -> tuple[float, float] | None:
    """Return to what range around 1 a node clips; ``None`` if it is no such."""
    least, most = _saved(node, "min"), _saved(node, "max")
    if isinstance(least, torch.Tensor) or isinstance(most, torch.Tensor):
        return None
    least = 0.0 if least is None else float(least)
    most = float("inf") if most is None else float(most)
    return (least, most) if 0 <= least < 1 < most else None


def _probabilities(node: Any, *, through_taking: bool = False) -> torch.Tensor | None:
    """Return the logarithms of what a log-probability was taken from, as far as a graph shows.

    Args:
        node: Made the log-probability.
        through_taking: Only where one of several is taken on the way.

    Returns:
        Logits, shape ``[..., actions]``; the first where there are several.
    """
    has_taken = not through_taking
    stack, left = [node], _MOST_BETWEEN
    while stack and left:
        node, left = stack.pop(), left - 1
        if node is None:
            continue
        name = operation(node)
        found = None
        if name == "log_softmax":
            found = _saved(node, "result")
        elif name == "logsumexp":
            found = _saved(node, "self")
        elif name == "softmax":
            found = _saved(node, "result")
            found = found.detach().log() if isinstance(found, torch.Tensor) else None
        elif name in _TO_PROBABILITIES:
            has_taken |= name in _TAKES_CLASSES
            stack += reversed(_inputs(node))
        if isinstance(found, torch.Tensor) and found.dim() and found.shape[-1] > 1:
            return found.detach() if has_taken else None
    return None


def _sign_of_logarithm(node: Any) -> int:
    """Return by which sign an operation holds a log-probability, 1 or -1; 0 if that is unknown."""
    sign = 1
    for _ in range(_MOST_BETWEEN):
        name = operation(node)
        inputs = [one for one in _inputs(node) if one is not None]
        if name in ("log_softmax", "log"):
            return sign
        if name == "sub" and any(operation(one) == "logsumexp" for one in inputs[1:]):
            return sign
        if name in ("neg", "nll_loss"):
            sign = -sign
        elif name not in _SHAPES and name not in _TAKES and name not in ("stack", "cat"):
            return 0
        if not inputs:
            return 0
        node = inputs[0]
    return 0


def _regression(node: Any, name: str) -> Regression | None:
    """Return what a node compares with what; ``None`` if it is no such."""
    if name == "pow":
        error, difference = _saved(node, "self"), _inputs(node)[0]
        is_square = _saved(node, "exponent") in (2, 2.0)
        if not (is_square and isinstance(error, torch.Tensor) and difference is not None):
            return None
        if operation(difference) != "sub":
            return None
        first, second = _inputs(difference)
        error = error.detach()
        if first is None:
            return Regression(second, None, None, -error) if second is not None else None
        if second is not None and _taken(second) is not None and _taken(first) is None:
            return Regression(second, None, None, -error, first)
        return Regression(first, None, None, error, second)
    values, target = _saved(node, "self"), _saved(node, "target")
    if not (isinstance(values, torch.Tensor) and isinstance(target, torch.Tensor)):
        return None
    first, second = (*_inputs(node), None)[:2]
    values, target = values.detach(), target.detach()
    if values.shape != target.shape:
        return None
    if first is None:
        return Regression(second, target, values, target - values)
    return Regression(first, values, target, values - target, second)


def _taken(node: Any) -> Any:
    """Return what made the output of which one element of each row is taken, if that is so."""
    has_taken = False
    for _ in range(8):
        if node is None:
            return None
        name = operation(node)
        if name not in _SHAPES and name not in _TAKES:
            return node if has_taken else None
        has_taken |= name in ("gather", "take_along_dim") or (
            name == "index" and _takes_by_rows(node)
        )
        node = _inputs(node)[0]
    return None


def _takes_by_rows(node: Any) -> bool:
    """Return whether two axes are indexed at once, as in ``q[rows, actions]``."""
    indices = _saved(node, "indices")
    return isinstance(indices, (tuple, list)) and sum(one is not None for one in indices) >= 2


def entropies(logits: torch.Tensor) -> torch.Tensor:
    """Return the entropy of some rows of probabilities.

    Args:
        logits: Or their logarithms, shape ``[..., actions]``; minus infinity for what is forbidden.

    Returns:
        Nats, shape ``[rows]``, float32, of at most ``MOST_ROWS`` evenly spaced rows.
    """
    width = logits.shape[-1]
    rows = logits.reshape(-1, width)
    most = max(1, min(MOST_ROWS, MOST_ELEMENTS // width))
    if len(rows) > most:
        chosen = torch.arange(most, device=rows.device) * len(rows) // most
        rows = rows[chosen]
    of_each: torch.Tensor = torch.special.entr(rows.float().softmax(-1))
    return of_each.sum(-1)


#: Of fewer returns nothing is said, and they follow from each other to this share of their range.
LEAST_RETURNS, FOLLOWS = 8, 1e-3
#: Of the changes of returns of several episodes this share follows from the change before.
MOST_FOLLOW = 0.6


def growth_of_returns(weights: torch.Tensor) -> float | None:
    """Return by what factor returns grow from one step of an episode to the next.

    A return is the reward and ``gamma`` times the return after it. Where all rewards of an episode
    are the same, each is therefore a linear function of the one before, also where returns were
    normalized. Of several episodes one after the other this holds but where the next one begins.

    Args:
        weights: What the log-probabilities of the actions of one or several episodes are
            multiplied by.

    Returns:
        ``1 / gamma`` for returns in the order of the actions, ``gamma`` where they are in the
        reverse order; ``None`` for weights that are no such returns, or too few. None are returns
        times ``gamma ** t``, as the policy gradient theorem has them: these fade as well.
    """
    values = weights.detach().reshape(-1).to(torch.float64)
    if len(values) < LEAST_RETURNS or not bool(values.isfinite().all()):
        return None
    before, after = values[:-1], values[1:]
    centred = before - before.mean()
    size = centred.square().sum()
    if not size > 0:
        return None
    growth = (centred * (after - after.mean())).sum() / size
    left = after - after.mean() - growth * centred
    is_linear = left.abs().max() <= FOLLOWS * (values.max() - values.min())
    found = float(growth) if is_linear else _growth_within(values)
    return None if found is not None and found < 1 and _fade(values) else found


def _fade(values: torch.Tensor) -> bool:
    """Return whether numbers of one sign become smaller, from most to the next."""
    is_of_one_sign = bool((values >= 0).all() or (values <= 0).all())
    return is_of_one_sign and float((values[:-1] * values.diff() < 0).double().mean()) > 0.5


def _growth_within(values: torch.Tensor) -> float | None:
    """Return by what factor most changes are larger than the one before; ``None`` for no such.

    Args:
        values: Shape ``[steps]``, float64.
    """
    changes = values.diff()
    before, after = changes[:-1], changes[1:]
    tells = before.abs() > FOLLOWS * before.abs().max()
    if int(tells.sum()) < LEAST_RETURNS:
        return None
    factors = (after / before)[tells]
    growth = factors.median()
    is_same = (factors - growth).abs() <= FOLLOWS * growth
    return float(growth) if growth > 0 and is_same.double().mean() >= MOST_FOLLOW else None


class Policies:
    """Observes what losses of policies and values are made of, in the collection ``policy``."""

    def __init__(self, names: Names, observer: Observer) -> None:
        self._observer = observer
        self._outputs: list[torch.Tensor] = []
        self._copies = Copies(names)
        # Whether a loss of the script was one of reinforcement learning.
        self._learns_by_reward = False

    def listens(self, step: OpenStep) -> bool:
        """Return whether what modules return is to be observed."""
        return step.mode is Mode.TRAIN and step.wants(_COLLECTION)

    def returned(
        self,
        step: OpenStep,  # noqa: ARG002
        module: torch.nn.Module,  # noqa: ARG002
        name: str,  # noqa: ARG002
        given: object,  # noqa: ARG002
        output: object,
    ) -> None:
        """Remember what may be a prediction of values."""
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        for one in outputs:
            if type(one) is torch.Tensor and one.requires_grad and one.numel() <= _MOST_OUTPUT:
                self._outputs.append(one)
        del self._outputs[:-_MOST_OUTPUTS]

    def forget(self, *_: object) -> None:
        """Hold no outputs."""
        self._outputs = []

    def before_backward(self, step: OpenStep, roots: object) -> None:
        """Gradients of ``roots`` are about to be computed in a step."""
        outputs, self._outputs = self._outputs, []
        if step.mode is not Mode.TRAIN or not step.wants(_COLLECTION) or in_transform():
            return
        self._observer.numbers(step, returns_of_script(), _COLLECTION)
        for root in _tensors(roots):
            if root.numel() != 1 or root.grad_fn is None:
                continue
            # What a script hooks into saving may raise anything.
            with isolated_compute(root.device.type), suppress(Exception):
                self._observe(step, parts_of(root), outputs)

    def _observe(self, step: OpenStep, parts: Parts, outputs: list[torch.Tensor]) -> None:
        for surrogate in parts.surrogates[:1]:
            self._add_surrogate(step, surrogate)
            self._learns_by_reward = True
        if not parts.surrogates:
            for _, factor, sign in parts.log_probabilities[:1]:
                self._add(step, "policy/weight", factor)
                if sign and (name := rewarded_by(factor)):
                    self._observer.numbers(step, {f"policy/sign/{name}": sign}, _COLLECTION)
                growth = growth_of_returns(factor) if factor.is_cpu else None
                if growth is not None and "policy/return_growth" not in step:
                    self._observer.numbers(step, {"policy/return_growth": growth}, _COLLECTION)
                # what is not learnt by rewards has weights from 0 up
                self._learns_by_reward |= _sign(factor) != 1
        is_policy = bool(parts.surrogates) or self._learns_by_reward
        if is_policy:
            for name in _forgotten_ends():
                self._observer.numbers(step, {f"value/unread_ends/{name}": 1.0}, _COLLECTION)
        if is_policy and parts.probabilities is not None and "policy/entropy" not in step:
            self._add(step, "policy/entropy", entropies(parts.probabilities))
        targets = [one.target for one in parts.regressions if one.target is not None]
        if targets and targets[0].is_cpu and (is_more := bootstraps(targets[0])) is not None:
            self._observer.numbers(step, {"value/bootstraps": float(is_more)}, _COLLECTION)
        by_action = [one for one in parts.regressions if one.takes_an_action]
        self._learns_by_reward |= bool(by_action)
        chosen = by_action or (parts.regressions if self._learns_by_reward else [])
        any(self._add_values(step, one, outputs, of_actions=bool(by_action)) for one in chosen)
        if by_action:
            target = by_action[0].target
            ignores = ignores_ends(target) if target is not None and target.is_cpu else None
            if ignores is not None:
                self._observer.numbers(step, {"value/ignores_ends": float(ignores)}, _COLLECTION)
            else:
                for name in _unread_ends():
                    self._observer.numbers(step, {f"value/unread_ends/{name}": 1.0}, _COLLECTION)
            for name in ends_seen(unstored_ends(main_script())):
                self._observer.numbers(step, {f"value/unstored_ends/{name}": 1.0}, _COLLECTION)
            for name in _cut_offs_for_ends():
                self._observer.numbers(step, {f"value/cut_offs/{name}": 1.0}, _COLLECTION)
            self._observer.numbers(step, next_states(), _COLLECTION)
            for name, moved, distance in self._copies.compare():
                self._observer.numbers(
                    step, {f"value/moved/{name}": moved, f"value/distance/{name}": distance},
                    _COLLECTION,
                )  # fmt: skip

    def _add_surrogate(self, step: OpenStep, surrogate: Surrogate) -> None:
        ratio = surrogate.ratio
        self._add(step, "policy/ratio", ratio)
        is_clipped = (ratio < surrogate.least) | (ratio > surrogate.most)
        self._add(step, "policy/clipped", is_clipped.float().mean())
        if surrogate.advantage is not None:
            self._add(step, "policy/advantage", surrogate.advantage)
        if surrogate.is_minimized is not None and "policy/is_minimized" not in step:
            value = float(surrogate.is_minimized)
            self._observer.numbers(step, {"policy/is_minimized": value}, _COLLECTION)

    def _add_values(
        self,
        step: OpenStep,
        regression: Regression,
        outputs: list[torch.Tensor],
        *,
        of_actions: bool,
    ) -> bool:
        """Observe values and their targets; return whether both are known."""
        values, target = regression.values, regression.target
        if values is None:
            values = _value_of(regression.prediction, outputs)
            if values is None or values.numel() != regression.error.numel():
                return False
            values = values.reshape(regression.error.shape)
            target = values - regression.error
        if target is None:
            return False
        function = "q" if of_actions else "v"
        self._add(step, "value/prediction", values, function)
        self._add(step, "value/target", target, function)
        self._add(step, "value/error", regression.error, function)
        if "value/through_target" not in step:
            through = float(_bootstraps_through(regression, outputs))
            self._observer.numbers(step, {"value/through_target": through}, _COLLECTION)
        return True

    def _add(self, step: OpenStep, name: str, value: torch.Tensor, function: str = "") -> None:
        if name not in step and not unsupported(value):
            self._observer.tensor(step, name, value, _COLLECTION, function)


def _value_of(node: Any, outputs: Iterable[torch.Tensor], left: int = 8) -> torch.Tensor | None:
    """Return what a node made of an output by taking, shifting or reshaping, up to its shape.

    A constant that it is shifted by is left out: a difference from a target is then one from a
    target that is shifted as well.
    """
    if node is None or not left:
        return None
    for output in outputs:
        if output.grad_fn is node:
            return output.detach()
    name, inputs = operation(node), _inputs(node)
    is_shifted = name in ("sub", "add") and inputs[1:] == [None]
    if not (name in _KEEPS_ORDER or is_shifted or name in ("gather", "index")):
        return None
    value = _value_of(inputs[0], outputs, left - 1)
    if value is None or name not in ("gather", "index"):
        return value
    with suppress(RuntimeError, IndexError, TypeError):  # its shape is not as it was then
        if name == "index":
            indices = _saved(node, "indices")
            found: torch.Tensor = value[tuple(slice(None) if i is None else i for i in indices)]
            return found
        dim, index = _saved(node, "dim"), _saved(node, "index")
        return value.gather(dim if dim < 1 << 62 else -1, index)
    return None


def _unread_ends() -> Iterator[str]:
    """Yield functions that lead here, and flags of ends that they leave unread."""
    for frame in script_frames():
        variables = variables_of(frame)
        found = [
            (one.function, one.name, variables.get(one.name)) for one in unread_ends(frame.f_code)
        ]
        found += [(one.function, *one.value(variables)) for one in unread_fields(frame.f_code)]
        for function, name, flags in found:
            if isinstance(flags, torch.Tensor):
                known = readable(flags)
                flags = None if known is None or not known.is_cpu else to_numpy(known)
            if has_ends(flags):
                yield f"{function}/{name}"


def _cut_offs_for_ends() -> Iterator[str]:
    """Yield what the scripts that lead here store in place of the ends of episodes."""
    files = {frame.f_code.co_filename for frame in script_frames()}
    yield from sorted({name for file in files for name in cut_offs_for_ends(file)})


def _forgotten_ends() -> Iterator[str]:
    """Yield the script, and what it calls ends of several episodes that it never reads."""
    frames = list(script_frames())
    names = {name for frame in frames for name in forgotten_ends(frame.f_code.co_filename)}
    for name in sorted(names):
        for variables in map(variables_of, frames):
            kept = (getattr(one, "__dict__", {}).get(name) for one in variables.values())
            found = [variables.get(name), *(kept if name not in variables else ())]
            if any(one is not None and are_of_episodes(one) for one in found):
                yield f"the script/{name}"
                break


def _bootstraps_through(regression: Regression, outputs: list[torch.Tensor]) -> bool:
    """Return whether the target is made of an output that gradients go through."""
    stack, left = [regression.through_target], 24
    while stack and left:
        node, left = stack.pop(), left - 1
        if node is None:
            continue
        if any(output.grad_fn is node for output in outputs):
            return True
        if operation(node) in _PASSED | {"max", "amax"}:
            stack += _inputs(node)
    return False


def _tensors(roots: object) -> Iterator[torch.Tensor]:
    for root in roots if isinstance(roots, (tuple, list)) else (roots,):
        if type(root) is torch.Tensor:
            yield root


class Copies:
    """Networks of the same shape as one that is trained, and that are not: target networks.

    Args:
        names: Of the models that ran.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._own = OwnParameters()
        self._last: WeakKeyDictionary[torch.nn.Module, torch.Tensor] = WeakKeyDictionary()

    def compare(self) -> Iterator[tuple[str, float, float]]:
        """Yield the name of each copy, how far it moved, and how far it is from the trained one.

        Both are l2 norms relative to that of the copy, of some of its parameters; it is yielded
        from the second look on.
        """
        trained = self._names.trained
        for copy in self._names.roots:
            if any(copy is one for one in trained):
                continue
            original = next((one for one in trained if self._are_alike(one, copy)), None)
            if original is None:
                continue
            now, other = self._flat(copy), self._flat(original)
            if now is None or other is None:
                continue
            last = self._last.get(copy)
            self._last[copy] = now
            size = float(now.norm()) or 1.0
            if last is not None and last.shape == now.shape:
                name = self._names.of(unwrap(copy)) or type(copy).__name__
                yield name, float((now - last).norm()) / size, float((now - other).norm()) / size

    def _are_alike(self, one: torch.nn.Module, other: torch.nn.Module) -> bool:
        mine, theirs = (dict(self._own.of(each)) for each in (one, other))
        return mine.keys() == theirs.keys() and all(
            parameter.shape == theirs[name].shape and parameter is not theirs[name]
            for name, parameter in mine.items()
        )

    def _flat(self, model: torch.nn.Module) -> torch.Tensor | None:
        """Return some of the parameters of a model, copied; ``None`` if none lie on the host."""
        found = [p for _, p in self._own.of(model) if p.numel() <= _MOST_PARAMETER and p.is_cpu]
        half = _MOST_PARAMETERS // 2
        chosen = found if len(found) <= _MOST_PARAMETERS else [*found[:half], *found[-half:]]
        if not chosen:
            return None
        return torch.cat([parameter.detach().reshape(-1).float() for parameter in chosen])
