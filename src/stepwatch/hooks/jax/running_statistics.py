"""Running statistics that a function of JAX evaluates with, though no training ever updated them.

A training step of Flax gets the new ``batch_stats`` beside the output, and has to return them; one
that calls a model of Keras by ``stateless_call``, the new variables that are not trained. One that
returns those that it was given leaves them at mean 0 and variance 1, as they were made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend.core
import numpy as np

# Where the names of normalizations begin, in what holds the variables of a model.
_ROOTS = ("batch_stats", "params")
_OF_STATISTICS, _OF_WEIGHTS = ("mean", "var"), ("scale", "bias")


class ListedModel(NamedTuple):
    """A model whose variables are given in two lists, as one of Keras.

    Args:
        trained: The shapes of what is trained,
        others: and of what is not.
        normalizations: Of each batch normalization the places in the second list of its mean and
            variance, and in the first of its weights.
    """

    trained: tuple[tuple[int, ...], ...]
    others: tuple[tuple[int, ...], ...]
    normalizations: tuple[tuple[int, int, tuple[int, ...]], ...]


def num_unfilled(
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    trace: Callable[..., Any] | None,
    models: Sequence[ListedModel] = (),
) -> int:
    """Return how many normalizations a function evaluates with statistics of a new layer.

    Their weights are among what it is given, and are trained. Who normalizes by the batch in
    evaluation, too, as some do who sample from a generator, does not use the statistics.

    Args:
        args: What it is called with by position,
        kwargs: and by name.
        trace: Returns its graph for them, as the ``trace`` of what ``jax.jit`` returns; ``None``
            where there is none.
        models: Whose variables may be in lists among what it is given.
    """
    given = [
        (path, leaf)
        for path, leaf in jax.tree_util.tree_flatten_with_path((tuple(args), dict(kwargs)))[0]
        if hasattr(leaf, "shape") or type(leaf) in (int, float)  # what is static is of no graph
    ]
    places = _new_statistics(given) or _new_in_lists(given, models)
    if not places or trace is None:
        return 0
    graph = trace(*args, **kwargs).jaxpr.jaxpr
    if len(graph.invars) != len(given):
        return 0  # which of them is which is not known
    used = _used(graph)
    return sum(all(graph.invars[place] in used for place in both) for both in places)


def _new_statistics(given: Sequence[tuple[Any, Any]]) -> list[tuple[int, int]]:
    """Return the places of mean and variance of each normalization that has those of a new one."""
    found: defaultdict[tuple[str, ...], dict[str, tuple[int, Any]]] = defaultdict(dict)
    for place, (path, leaf) in enumerate(given):
        names = [_name(key) for key in path]
        if names[-1] in (*_OF_STATISTICS, *_OF_WEIGHTS) and getattr(leaf, "ndim", 0) == 1:
            start = max((at + 1 for at, name in enumerate(names) if name in _ROOTS), default=0)
            owner = tuple(name for name in names[start:-1] if name)
            found[owner].setdefault(names[-1], (place, leaf))
    return [
        (parts["mean"][0], parts["var"][0])
        for parts in found.values()
        if all(name in parts for name in _OF_STATISTICS)
        and any(_varies(parts[name][1]) for name in _OF_WEIGHTS if name in parts)
        and _are_new(parts["mean"][1], parts["var"][1])
    ]


def _new_in_lists(
    given: Sequence[tuple[Any, Any]], models: Sequence[ListedModel]
) -> list[tuple[int, int]]:
    """Return the same of models whose variables are in lists."""
    lists: dict[Any, list[tuple[int, Any]]] = {}
    for place, (path, leaf) in enumerate(given):
        if len(path) > 1 and isinstance(path[-1], jax.tree_util.SequenceKey):
            lists.setdefault(path[:-1], []).append((place, leaf))
    by_shapes = {
        tuple(tuple(np.shape(leaf)) for _, leaf in those): those for those in lists.values()
    }
    for model in models:
        trained, others = by_shapes.get(model.trained), by_shapes.get(model.others)
        if trained is not None and others is not None:
            return [
                (others[mean][0], others[variance][0])
                for mean, variance, weights in model.normalizations
                if any(_varies(trained[one][1]) for one in weights)
                and _are_new(others[mean][1], others[variance][1])
            ]
    return []


def _are_new(mean: Any, variance: Any) -> bool:
    """Return whether running statistics are those of a new layer."""
    return not np.asarray(mean).any() and bool((np.asarray(variance) == 1).all())


def _name(key: Any) -> str:
    """Return the name of a part in its whole; of a place in a sequence nothing."""
    return str(getattr(key, "key", getattr(key, "name", "")))


def _varies(weights: Any) -> bool:
    """Return whether weights are no longer what all begin with, which is one number each."""
    values = np.asarray(weights)
    return bool((values != values.flat[0]).any()) if values.size else False


def _used(graph: Any) -> set[Any]:
    """Return the variables of a graph that its outputs are computed of."""
    used = {one for one in graph.outvars if isinstance(one, jax.extend.core.Var)}
    for equation in reversed(graph.eqns):
        if any(one in used for one in equation.outvars):
            used.update(one for one in equation.invars if isinstance(one, jax.extend.core.Var))
    return used
