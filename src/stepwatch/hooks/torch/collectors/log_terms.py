"""Whether what is part of a loss by itself and in an exponential is held by both.

The logarithm of a variance or of a scale, and what a log-determinant is made of, is part of a loss
twice: as it is, and in an exponential, as in ``(x - mean)**2 * exp(-log_var) + log_var`` or in a
divergence ``exp(log_var) - log_var``. Where one falls with it, the other has to rise: else the loss
has no least value, and a sign is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ..autograd import Edge, forward_order, layer_before, operation, saved_as_is
from ..internals import has_dispatch_mode, in_transform, isolated_compute
from ..models import Names
from ..observe import Scalars
from ..written_loss import MOST_ELEMENTS

_COLLECTION = "loop"
#: So many graphs are looked through, a quarter as many without a term, and so many terms of each.
_MOST_GRAPHS, _MOST_TERMS = 12, 4
#: From an exponential, and from a term to the loss, so many operations are followed.
_MOST_INSIDE, _MOST_AFTER = 32, 2000
# What leaves each element what it is, and what adds some up.
_KEEPS = frozenset({
    *("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "expand", "clone", "alias"),
    *("to_copy", "transpose", "permute", "t", "select", "slice", "index", "gather", "index_select"),
    *("unbind", "split", "split_with_sizes", "unsafe_split", "flip", "diagonal"),
})  # fmt: skip
_SUMS = frozenset({"sum", "mean", "stack", "cat", "where"})


# What uses each of the outputs of an operation, and as which of its inputs.
_Users = Mapping[Any, Mapping[int, Sequence[tuple[Any, int]]]]


class LogTerm(NamedTuple):
    """What is part of a loss by itself and in an exponential.

    Args:
        layer: The layer whose output it is, empty if that is not known.
        sign: 1 if the loss rises with it where it stands by itself, -1 if it falls.
        powers: The exponentials that it is part of, and whether each rises with it, 1, or falls.
    """

    layer: str
    sign: int
    powers: tuple[tuple[Any, int], ...]


@dataclass(slots=True, eq=False)
class _Look:
    """A term of a loss whose gradients are about to be computed.

    It holds nothing of the graph, whose operations are about to hold its ``effects``.

    Args:
        layer, sign: Of the term.
        count: Of how many exponentials it is part.
        effects: How the loss rises if these grow by one percent each, times 100.
    """

    step: OpenStep
    layer: str
    sign: int
    count: int
    effects: list[torch.Tensor] = field(default_factory=list)


class LogTerms:
    """Observes them in the collection ``loop``, of the first graphs of a model.

    Args:
        names: Of the parameters.
    """

    def __init__(self, names: Names, scalars: Scalars) -> None:
        self._names, self._scalars = names, scalars
        self._looks: list[_Look] = []
        self._graphs = -1, 0  # of which models, and how many

    def before_backward(self, step: OpenStep, roots: object) -> None:
        """Gradients are about to be computed."""
        version, count = self._graphs
        if version != self._names.version:
            count = 0
        is_loss = isinstance(roots, torch.Tensor) and roots.numel() == 1 and roots.requires_grad
        if not is_loss or step.mode is not Mode.TRAIN or count >= _MOST_GRAPHS:
            return
        if in_transform() or not step.wants(_COLLECTION):
            return
        terms: list[LogTerm] = []
        with suppress(Exception):  # a graph of whatever kind
            terms += log_terms(roots, self._names.parameters)  # type: ignore[arg-type]
        self._graphs = self._names.version, count + (1 if terms else 4)
        for term in terms:
            look = _Look(step, term.layer, term.sign, len(term.powers))
            self._looks.append(look)
            for power, sign in term.powers:
                made = saved_as_is(power, "result")
                if made is not None:
                    power.register_prehook(partial(_note, look.effects, made.detach(), sign))

    def after_backward(self) -> None:
        """Gradients were computed: observe whether both fall with the term."""
        looks, self._looks = self._looks, []
        for number, look in enumerate(looks):
            if len(look.effects) == look.count:
                effect = torch.stack(look.effects).sum()
                with isolated_compute(effect.device.type):
                    same = torch.where(effect == 0, torch.nan, (effect * look.sign > 0) * 1.0)
                name = f"loop/log_term/{look.layer or f'#{number}'}"
                self._scalars.add(look.step, name, _COLLECTION, same)

    def forget(self, *_: object) -> None:
        """Observe no more of the graphs that were looked through."""
        self._looks.clear()


def _note(
    effects: list[torch.Tensor], result: torch.Tensor, sign: int, gradients: Sequence[object]
) -> None:
    """Called by autograd, perhaps in another thread, where nothing may be raised."""
    gradient = gradients[0] if gradients else None
    if type(gradient) is not torch.Tensor or gradient.layout != torch.strided:
        return
    if gradient.shape != result.shape or gradient.numel() > MOST_ELEMENTS:
        return
    if not (torch.compiler.is_compiling() or has_dispatch_mode() or in_transform()):
        product = gradient.detach().to(torch.float64) * result
        effects.append(sign * product.sum())


def log_terms(loss: torch.Tensor, names: Mapping[int, str]) -> Iterator[LogTerm]:
    """Yield what is part of a loss by itself and in an exponential.

    Left out is what is multiplied by numbers of both signs, such as noise, or advantages.

    Args:
        loss: Of which no gradients were computed yet.
        names: Of the parameters, by ``id``.
    """
    order = forward_order(loss.grad_fn)
    powers = [node for node in order if operation(node) == "exp"]
    if not powers:
        return
    users: dict[Any, dict[int, list[tuple[Any, int]]]] = {}
    for node in order:
        for place, (source, index) in enumerate(node.next_functions):
            if source is not None:
                users.setdefault(source, {}).setdefault(index, []).append((node, place))
    found: dict[Edge, tuple[int, list[tuple[Any, int]]]] = {}
    for power in powers:
        if _is_of_both_signs(power, users):
            continue
        for edge, sign in _inside(power.next_functions[0]):
            term = _sign_in_loss(edge, users, loss.grad_fn)
            if term:
                found.setdefault(edge, (term, []))[1].append((power, sign))
                break
    for edge, (sign, parts) in [*found.items()][:_MOST_TERMS]:
        yield LogTerm(layer_before(edge[0], names), sign, tuple(parts))


def _is_of_both_signs(power: Any, users: _Users) -> bool:
    """Return whether an exponential is only multiplied by numbers of both signs, as noise is."""
    factors = [_factor(user, place) for user, place in _users_of((power, 0), users)]
    return bool(factors) and all(one is None for one in factors)


def _inside(edge: Edge) -> Iterator[tuple[Edge, int]]:
    """Yield what an exponent is a sum of, the nearest first, and whether it rises with each."""
    waiting, known = [(edge, 1)], {edge}
    for one, sign in waiting:
        yield one, sign
        node = one[0]
        for place, source in enumerate(node.next_functions):
            factor = _factor(node, place)
            is_new = source[0] is not None and source not in known
            if is_new and factor and operation(node) not in _SUMS and len(known) < _MOST_INSIDE:
                known.add(source)
                waiting.append((source, sign * factor))


def _sign_in_loss(edge: Edge, users: _Users, root: Any) -> int:
    """Return whether a loss rises, 1, or falls, -1, with what is a term of it, elsewhere constant.

    Returns:
        0 for no term, and for one of both signs.
    """
    found: set[int] = set()
    waiting, known = [(edge, 1)], {edge}
    while waiting and len(known) < _MOST_AFTER:
        one, sign = waiting.pop()
        for user, place in _users_of(one, users):
            factor = _factor(user, place)
            if operation(user) == "exp":  # the logarithm of which is what it was before
                factor = 0
                for after, _ in _users_of((user, 0), users):
                    if operation(after) == "log" and (after, 0) not in known:
                        known.add((after, 0))
                        waiting.append(((after, 0), sign))
            if factor is None:
                return 0
            if not factor:
                continue
            if user is root:
                found.add(sign * factor)
            for made in ((user, index) for index in users.get(user, ())):
                if made not in known:
                    known.add(made)
                    waiting.append((made, sign * factor))
    return found.pop() if len(found) == 1 else 0


def _users_of(edge: Edge, users: _Users) -> Sequence[tuple[Any, int]]:
    return users.get(edge[0], {}).get(edge[1], ())


def _factor(node: Any, place: int) -> int | None:
    """Return whether what an operation makes rises, 1, or falls, -1, with what it is given.

    Args:
        place: Of what it is given.

    Returns:
        0 where that is not linear; ``None`` for a product with numbers of both signs.
    """
    name = operation(node)
    if name in _KEEPS or name in _SUMS:
        return 1
    if name == "neg":
        return -1
    if name in ("add", "sub", "rsub"):
        is_taken = (name == "sub" and place == 1) or (name == "rsub" and place == 0)
        return -1 if is_taken else 1
    if name not in ("mul", "div") or (name == "div" and place == 1):
        return 0
    if sum(one is not None for one, _ in node.next_functions) != 1:
        return 0
    other = saved_as_is(node, "self" if place == 1 else "other")
    if other is None or not other.is_cpu or other.layout != torch.strided:
        return 0  # to read one that lies elsewhere would wait for it
    if other.is_complex() or not 0 < other.numel() <= MOST_ELEMENTS:
        return 0
    least, most = (float(one) for one in other.detach().aminmax())
    if least >= 0:
        return 1 if most > 0 else 0
    return -1 if most <= 0 else None
