"""Helpers of other packages that prepare data, where they are set against what they are given.

The normalization of stable-baselines3 evaluates with the statistics of what it was trained on, if
these are loaded: one that is made anew has seen nothing. The split of links of PyTorch Geometric
takes each direction of an edge for an edge of its own, unless it is told of a graph without
directions: then one direction is evaluated, and the other is trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakMethod

import numpy as np

from ..model.record import TensorInfo
from .patching import PatchSet, calling_first

#: A running average of nothing begins with a count below 1.
_LEAST_SEEN = 1


def is_unfitted(normalization: Any, *_: Any) -> bool:
    """Return whether observations are normalized by statistics of none, which stay so.

    Args:
        normalization: A ``VecNormalize``.
    """
    if normalization.training or not normalization.norm_obs:
        return False
    of = normalization.obs_rms
    return all(one.count < _LEAST_SEEN for one in (of.values() if isinstance(of, dict) else [of]))


def splits_edges(split: Any, graph: Any) -> bool:
    """Return whether edges of a graph without directions are split one direction at a time.

    Args:
        split: A ``RandomLinkSplit``.
        graph: The ``Data`` that it is given.
    """
    holds_out = bool(split.num_val or split.num_test)
    return holds_out and not split.is_undirected and bool(graph.is_undirected())


#: A model that goes on from one fold to the next so often is not made anew for each.
_MOST_TURNS = 2

#: By the module that is waited for: which method of which class is looked at, when something is
#: wrong, and what that is called.
_WATCHED: Mapping[str, tuple[str, str, Callable[..., bool], str]] = {
    "stable_baselines3.common.vec_env.vec_normalize": (
        "VecNormalize", "normalize_obs", is_unfitted, "unfitted",
    ),
    "torch_geometric.transforms.random_link_split": (
        "RandomLinkSplit", "forward", splits_edges, "split_edges",
    ),
}  # fmt: skip


class Watching:
    """Watches functions of packages, and tells each thing that is found once."""

    def __init__(self) -> None:
        self._replaced = PatchSet()
        self._found: set[str] = set()
        self._told: set[str] = set()

    def end(self) -> None:
        """Watch nothing any more."""
        self._replaced.remove()

    def found(self) -> Iterator[tuple[TensorInfo, Any]]:
        """Yield what was found since it was asked last, as tensors of a step."""
        for name in sorted(self._found - self._told):
            self._told.add(name)
            yield TensorInfo(f"evaluation/{name}", "evaluations", "float64", ()), np.asarray(1.0)


class Folds(Watching):
    """Watches cross-validation by scikit-learn, for the hooks whose models are trained in it.

    A model that goes on from fold to fold was trained on what the later ones evaluate.
    """

    def __init__(self) -> None:
        super().__init__()
        #: How often a loop over the folds went on to another one.
        self.num_turns = 0
        self._listeners: list[WeakMethod[Callable[[], None]]] = []
        self._goes_on: dict[str, int] = {}

    def begin(self) -> None:
        """Watch the folds of scikit-learn, but for those of a time series: its parts follow."""
        self._replaced.when_imported("sklearn.model_selection._split", self._watch)

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a method called as a loop goes on to another fold, as long as its object lives."""
        self._listeners.append(WeakMethod(listener))

    def _watch(self) -> None:
        folds = sys.modules["sklearn.model_selection._split"]
        self._replaced.put(folds._BaseKFold, "split", self._counting)

    def _counting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def split(*args: Any, **named: Any) -> Iterator[Any]:
            for number, parts in enumerate(original(*args, **named)):
                if number:
                    self._turn()
                yield parts

        return split

    def _turn(self) -> None:
        self.num_turns += 1
        self._listeners = [one for one in self._listeners if one() is not None]
        for one in self._listeners:
            if (listener := one()) is not None:
                with suppress(Exception):
                    listener()

    def goes_on(self, model: str) -> None:
        """A model that was trained in the fold before is trained on; once may be on purpose."""
        self._goes_on[model] = self._goes_on.get(model, 0) + 1
        if self._goes_on[model] >= _MOST_TURNS:
            self._found.add(f"folds/{model}")


FOLDS = Folds()


class DataHelpers(Watching):
    """Watches them, once their packages are imported."""

    def begin(self) -> None:
        """Watch the packages that were imported, and those that will be."""
        for module in _WATCHED:
            self._replaced.when_imported(module, partial(self._watch, module))

    def _watch(self, module: str) -> None:
        owner, method, holds, what = _WATCHED[module]
        look = partial(self._look, holds, f"{what}/{owner}")
        self._replaced.put(getattr(sys.modules[module], owner), method, calling_first(look))

    def _look(self, holds: Callable[..., bool], name: str, *args: Any, **named: Any) -> None:
        """Look at a call that is about to be made, until it was found once."""
        if name not in self._found:
            with suppress(Exception):  # another version has other attributes
                if holds(*args, **named):
                    self._found.add(name)
