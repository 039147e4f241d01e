"""What a training function of JAX is given again and again, though it should be another each time.

Functions of JAX draw the same numbers for the same random key: whoever passes one key at each step
draws the same batch, dropout masks or noise each time. A key that is folded with a count inside of
the function is another at each step. And the state of an optimizer of optax that is not passed on
counts no step: its moments and its schedule begin anew each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .graphs import draws_by_more

KEY, STATE = "same_key", "same_state"
#: What draws by a key; the script does so between steps, as the rows of a batch.
DRAWS = (
    "bernoulli",
    "bits",
    "categorical",
    "choice",
    "exponential",
    "gamma",
    "gumbel",
    "laplace",
    "multivariate_normal",
    "normal",
    "permutation",
    "randint",
    "truncated_normal",
    "uniform",
)
#: So many calls in a row with the very same values.
LEAST_CALLS = 20
# So many calls of each function are looked at: to read a value may wait for the device.
_MOST_CALLS = 32
# And so many draws of each kind.
_MOST_DRAWS = 128

Function = Callable[..., Any]


class RepeatedArguments:
    """Counts how often in a row each function is given one random key, or one optimizer state."""

    def __init__(self) -> None:
        self._num_steps = 0
        # For what is drawn in the same way by one key: after how many steps it was drawn last, and
        # in how many of these that follow each other.
        self._drawn: dict[tuple[str, bytes, str], tuple[int, int]] = {}
        self._num_draws: Counter[str] = Counter()
        self._num_calls: Counter[str] = Counter()
        self._last: dict[tuple[str, str, str], tuple[bytes, int]] = {}
        # Of keys that stayed the same whether a function draws by them and something else.
        self._varied: dict[tuple[str, str], bool] = {}

    def draw(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
        """Add what is drawn outside of jitted functions.

        Args:
            name: Of ``DRAWS``.
            args: What it was called with by position, the key first,
            kwargs: and by name.

        Returns:
            In how many steps in a row the very same was drawn.
        """
        if self._num_draws[name] >= _MOST_DRAWS:
            return 0
        key, *others = (*args, *kwargs.values())
        content = key_content(key)
        if content is None:
            return 0
        self._num_draws[name] += 1
        how = name, content, str([getattr(one, "shape", one) for one in others])
        last, count = self._drawn.get(how, (-1, 0))
        if self._num_steps != last:
            count = count + 1 if self._num_steps == last + 1 else 1
            self._drawn[how] = self._num_steps, count
        return count

    def trained(self) -> None:
        """A step is over."""
        self._num_steps += 1

    def looks_at(self, function: str) -> bool:
        """Return whether its next call is to be added."""
        return self._num_calls[function] < _MOST_CALLS

    def looked_at(self, function: str) -> None:
        """Count a call of a function."""
        self._num_calls[function] += 1

    def add(
        self,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        graph: Callable[[], Any],
    ) -> Iterator[tuple[str, int]]:
        """Add a call that trains; yield what was the same for long, and in how many calls.

        Args:
            function: Its name.
            args: What it was called with by position,
            kwargs: and by name.
            graph: Returns its ``Jaxpr``, ``None`` if it is not known.
        """
        self.looked_at(function)
        given = {str(place): value for place, value in enumerate(args)} | dict(kwargs)
        for place, value in [*given.items()]:
            given |= {f"{place}{inner}": key for inner, key in _keys_in(value)}
        for place, value in given.items():
            for kind, content in ((KEY, key_content(value)), (STATE, _counts(value))):
                if content is None:
                    continue
                last, count = self._last.get((function, place, kind), (b"", 0))
                count = count + 1 if content == last else 1
                self._last[function, place, kind] = content, count
                if count < LEAST_CALLS:
                    continue
                if kind == KEY and (function, place) not in self._varied:
                    self._varied[function, place] = is_varied(value, args, kwargs, graph())
                if kind != KEY or not self._varied[function, place]:
                    yield kind, count


def is_varied(key: Any, args: Sequence[Any], kwargs: Mapping[str, Any], graph: Any | None) -> bool:
    """Return whether a function draws by a key and something else, as far as its graph is known."""
    if graph is None:
        return True
    # Static arguments, such as functions or the size of a batch, are none of a graph.
    leaves: list[Any] = []
    for leaf in jax.tree.leaves((tuple(args), dict(kwargs))):
        place = len(leaves)
        is_number = isinstance(leaf, (int, float)) and place < len(graph.invars)
        if hasattr(leaf, "dtype") or (is_number and graph.invars[place].aval.weak_type):
            leaves.append(leaf)
    if len(leaves) != len(graph.invars):
        return True
    return draws_by_more(graph, next(at for at, leaf in enumerate(leaves) if leaf is key))


def _keys_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the random keys that lie in a value, and where, such as among all arguments in one."""
    if isinstance(value, jax.Array):
        return
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        if key_content(leaf) is not None:
            yield jax.tree_util.keystr(path), leaf


def key_content(value: Any) -> bytes | None:
    """Return what is in a random key, typed or not; ``None`` for anything else."""
    if not _can_be_read(value) or value.ndim > 1:
        return None
    if jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key):
        return bytes(np.asarray(jax.random.key_data(value)).tobytes())
    if value.dtype == np.uint32 and value.shape == (2,):
        return bytes(np.asarray(value).tobytes())
    return None


def _can_be_read(value: Any) -> bool:
    """Return whether a value is an array whose memory was not donated to what it was given to."""
    is_array = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    return is_array and not value.is_deleted()


def _counts(value: Any) -> bytes | None:
    """Return how many steps a state of an optimizer has counted; ``None`` for what is none.

    A chain of optax has a tuple of states; the variables of an optimizer of Keras are a list.
    """
    if type(value) in (list, tuple) and len(value) > 2 and _are_of_keras(value):
        return np.asarray(value[0]).tobytes()
    parts = value if type(value) is tuple else (value,)
    if not any(type(part).__module__.startswith("optax.") for part in parts):
        return None
    counts = [
        np.asarray(leaf)
        for leaf in jax.tree.leaves(value)
        if _can_be_read(leaf) and leaf.ndim == 0 and leaf.dtype == np.int32
    ]
    return b"".join(one.tobytes() for one in counts) or None


def _are_of_keras(variables: Sequence[Any]) -> bool:
    """Return whether these may be the variables of an optimizer of Keras that has not stepped.

    How many steps it took comes first; then, unless a schedule gives it, the learning rate; and
    what it remembers of gradients, which is zero.
    """
    if not all(map(_can_be_read, variables)):
        return False
    count, *others = variables
    is_counted = count.ndim == 0 and count.dtype.kind == "i"
    are_numbers = all(jax.numpy.issubdtype(one.dtype, jax.numpy.floating) for one in others)
    return bool(is_counted and are_numbers and others[-1].ndim and not others[-1].any())
