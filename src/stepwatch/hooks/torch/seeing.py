"""What a compiler traces of ours: it adds statistics to slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from .graph_statistics import add_to_slot

Answer = TypeVar("Answer")

#: Whose slots hold sampled logits and entropies.
ATTENTION = "attention"


class Seeing:
    """Sees values while a compiler traces the code that computes them.

    What it asks for is answered while the code is compiled, and is a constant of the graph.

    Args:
        slot_of: Returns the name of the slot of the value that is traced as ``tensor``, by what it
            is and where in a nested value it lies; nothing if it has none.
        has_fixed_shape: Returns whether that value has the same shape whenever the graph runs.
        slots: Has the slots, by name.
    """

    def __init__(
        self,
        slot_of: Callable[[str, str], str],
        has_fixed_shape: Callable[[], bool],
        slots: object,
    ) -> None:
        self._slot_of = _constant(slot_of)
        self._has_fixed_shape = _constant(has_fixed_shape)
        self._slots = slots

    def see(self, what: str, value: object, inner: str = "") -> None:
        """See a value, or all tensors in it."""
        if isinstance(value, torch.Tensor):
            self._add(what, inner, value)
        elif isinstance(value, dict):
            for key, part in value.items():
                self.see(what, part, f"{inner}/{key}")
        elif isinstance(value, (tuple, list)):
            for index, part in enumerate(value):
                self.see(what, part, f"{inner}/{index}")
        elif hasattr(value, "__dataclass_fields__"):
            for key in value.__dataclass_fields__:
                self.see(what, getattr(value, key), f"{inner}/{key}")

    def saw_attention(
        self, rows: Callable[..., Any], given: Sequence[torch.Tensor], **how: Any
    ) -> None:
        """See what attention computed; see ``Attention.observe``."""
        # Which rows are sampled depends on the shapes: others would be compiled anew.
        if all(self._is_fixed(tensor) for tensor in given):
            logits, entropy = rows(*(tensor.detach() for tensor in given), **how)
            self.see(ATTENTION, {"logits": logits, "entropy": entropy})

    def _add(self, what: str, inner: str, tensor: torch.Tensor) -> None:
        slot = self._slot_of(what, inner)
        if slot:
            add_to_slot(getattr(self._slots, slot), tensor)

    def _is_fixed(self, tensor: torch.Tensor) -> bool:  # noqa: ARG002  it is found in the frame
        return self._has_fixed_shape()  # of what the compiler's frame calls ``tensor``


def _constant(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a function that a compiler calls while it compiles, and whose answer it keeps."""

    def ask(*arguments: str) -> Answer:
        return function(*arguments)

    constant: Any = torch.compiler.assume_constant_result
    found: Callable[..., Answer] = constant(ask)
    return found
