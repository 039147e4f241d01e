"""Gathers what is seen while a function is traced, or runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import get_opaque_trace_state

from ...record import TensorInfo
from .choices import WHOLE, WORDS, Choice
from .seen import Seen
from .words import words_of

_words_at_once = jax.jit(words_of)


class Collector:
    """What was seen in one function, on the level of tracing on which it was called.

    A value of another level must not be kept here: it is of no meaning outside of the
    transformation that made it.

    Args:
        choice: What is wanted of each tensor.
        in_loop: Whether the function is the body of a loop; full values are then not kept, as
            there would be one for each turn.
    """

    def __init__(self, choice: Choice, *, in_loop: bool = False) -> None:
        self.choice, self.in_loop = choice, in_loop
        self.trains = False
        self._level = get_opaque_trace_state()
        self._infos: list[TensorInfo] = []
        self._values: list[Any] = []
        self._seen: list[Seen] = []
        #: What was observed under a name, to be recognized.
        self.observed: dict[str, Any] = {}

    @property
    def is_here(self) -> bool:
        """Whether what is computed now is of the level of this."""
        return bool(self._level == get_opaque_trace_state())

    def observe(self, info: TensorInfo, value: Any) -> None:
        """Observe a value of this level."""
        self.observed[info.name] = value
        if self.in_loop or self.choice.of(info):  # of later turns it may be wanted
            self._infos.append(info)
            self._values.append(jax.lax.stop_gradient(value))

    def add(self, seen: Seen) -> None:
        """Take over what was seen in a function that was called here."""
        self.trains |= seen.trains
        self._seen.append(seen)

    def close(self) -> Seen:
        """Return all of it, as outputs of the function."""
        flat = [seen for seen in self._seen if not seen.is_loop]
        loops = [one for seen in self._seen for one in ([seen] if seen.is_loop else seen.inner)]
        infos, words, whole_of, whole = self._own()
        for seen in flat:
            whole_of += [len(infos) + place for place in seen.whole_of]
            whole += seen.whole
            infos += seen.infos
            words += [seen.words] if seen.infos else []
        return Seen(
            jnp.concatenate(words) if words else None,
            tuple(whole),
            tuple(loops),
            tuple(infos),
            tuple(whole_of),
            trains=self.trains,
        )

    def _own(self) -> tuple[list[TensorInfo], list[Any], list[int], list[Any]]:
        held = [WORDS if self.in_loop else self.choice.of(info) for info in self._infos]
        whole_of = [place for place, one in enumerate(held) if one == WHOLE]
        words = [_words_at_once(tuple(self._values))] if self._values else []
        return list(self._infos), words, whole_of, [self._values[place] for place in whole_of]


def readable_infos(
    names: Sequence[str], kind: str, values: Sequence[Any], *, trainable: bool | None = None
) -> list[TensorInfo]:
    """Return what is known of arrays, which may be traced ones."""
    return [
        TensorInfo(name, kind, value.dtype.name, tuple(value.shape), trainable)
        for name, value in zip(names, values, strict=True)
    ]
