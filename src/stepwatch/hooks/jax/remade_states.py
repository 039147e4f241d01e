"""States of optax that a script makes anew in each epoch, for weights that it trains on.

The moments and the count of a schedule begin anew with them. That weights are trained on is known
by what the last step returned: the very same arrays are given to the next.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import jax
import numpy as np

from ..epoch_loops import is_in_every_epoch
from ..patching import PatchSet

#: Larger arrays are not kept from one step to the next, and no more of them.
_MOST_ELEMENTS, _MOST_KEPT = 4096, 64

Function = Callable[..., Any]


class StateMaking:
    """Notifies of where optimizers of optax are asked for a state, and puts optax back.

    Args:
        made: Called where a script asks for one.
    """

    def __init__(self, made: Callable[[], None]) -> None:
        self._made = made
        self._replaced = PatchSet()

    def wrap(self) -> None:
        """Take hold of optax once it is imported."""
        self._replaced.when_imported("optax", self._wrap)

    def remove(self) -> None:
        """Put back, but for what somebody else has replaced since."""
        self._replaced.remove()

    def _wrap(self) -> None:
        with suppress(AttributeError, KeyError):  # another optax than we know
            kind = sys.modules["optax"].GradientTransformation
            original = vars(kind)["init"]
            made = self._made

            # The function itself stays what it is: JAX knows what it has compiled by it.
            def init(optimizer: Any) -> Any:
                made()
                return original.__get__(optimizer, type(optimizer))

            ours = property(init, doc=original.__doc__)

            def put_back() -> None:
                if vars(kind)["init"] is ours:
                    kind.init = original

            kind.init = ours
            self._replaced.add(put_back)


class RemadeStates:
    """Counts how often a state is made anew in each epoch, for the weights of the step before."""

    def __init__(self) -> None:
        #: Whether any state was made in a loop over epochs; else nothing is looked at.
        self.is_open = False
        #: Whether a state was made in a loop over epochs, and no function was given it yet.
        self.is_made = False
        # By function, small arrays that its last call returned.
        self._returned: dict[str, list[Any]] = {}
        #: How often in a row one was made anew for weights that were trained on.
        self.count = 0

    def made(self) -> None:
        """A script asks for a state."""
        if is_in_every_epoch():
            self.is_open = self.is_made = True

    def given(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Look at what a function is about to be called with; it may be given away by that.

        Args:
            function: Its name.
            args: By position,
            kwargs: and by name.
        """
        states = list(_states((*args, *kwargs.values())))
        if states:
            self.is_made = False
            self._returned.setdefault(function, [])
            goes_on = self._goes_on(jax.tree.leaves((tuple(args), dict(kwargs))))
            self.count = self.count + 1 if goes_on and any(map(_is_fresh, states)) else 0

    def returned(self, function: str, output: Any, *, trains: bool) -> None:
        """Note what a function returned, if it computes gradients or is given a state."""
        if trains or function in self._returned:
            small = (one for one in jax.tree.leaves(output) if _is_small(one))
            self._returned[function] = list(islice(small, _MOST_KEPT))

    def _goes_on(self, given: Sequence[Any]) -> bool:
        """Return whether arrays that a call is given are what the last calls returned."""
        returned = {id(one) for kept in self._returned.values() for one in kept}
        return any(id(one) in returned for one in given)


def _is_small(leaf: Any) -> bool:
    """Return whether an array may be a parameter, and takes next to no memory."""
    is_array = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    if not is_array or leaf.ndim == 0 or leaf.size > _MOST_ELEMENTS:
        return False
    return bool(jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating))


def _states(given: Sequence[Any], depth: int = 3) -> Iterator[Any]:
    """Yield the states of optax among arguments, also in what holds several, as a ``TrainState``.

    A chain has a tuple of states.
    """
    for value in given:
        if type(value).__module__.startswith("optax."):
            yield value
        elif depth and type(value) in (tuple, list):
            yield from _states(value, depth - 1)
        elif depth and hasattr(value, "opt_state"):
            yield from _states((value.opt_state,), depth - 1)


def _is_fresh(state: Any) -> bool:
    """Return whether a state has counted nothing, and its least array is all zeros."""
    leaves = [one for one in jax.tree.leaves(state) if isinstance(one, jax.Array)]
    if not leaves or any(one.is_deleted() for one in leaves):
        return False
    counts = [one for one in leaves if one.ndim == 0 and one.dtype == np.int32]
    rest = [one for one in leaves if one.ndim]
    least = [min(rest, key=lambda one: one.size)] if rest else []
    read = [*counts, *least]
    return bool(read) and not any(np.asarray(one).any() for one in read)
