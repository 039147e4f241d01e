"""What goes into modules and comes out of them, under the names that smdebug gives it.

smdebug names only plain tensors, alone or in tuples and lists, and numbers those of one module
within a step. What it leaves out gets names that leave its numbers as they are: values of
mappings and dataclasses and keyword arguments have their key, ``net_output_logits``; parameters
and other subclasses of tensors have their class, ``proj_input_Parameter_0``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import torch

# Something that holds itself would never end.
_DEEPEST = 8


class TensorNumbers:
    """Numbers the tensors that go into modules, or come out, within one step.

    Example:
        >>> numbers, one = TensorNumbers(), torch.zeros(1)
        >>> [name for name, _ in numbers.named("act_input", (one, [one, None]))]
        ['act_input_0', 'act_input_1']
        >>> [name for name, _ in numbers.named("act_input", {"mask": one})]
        ['act_input_mask']
        >>> [name for name, _ in numbers.named("act_input", one)]
        ['act_input_2']
    """

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def restart(self) -> None:
        """Begin at 0 again; a step begins."""
        self._next.clear()

    def named(self, base: str, value: object) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every tensor in a value with its name, which begins with ``base``."""
        if type(value) is torch.Tensor:  # as nearly all are
            yield self._numbered(base), value
        elif value is not None:
            yield from self._inside(base, value, _DEEPEST)

    def keyed(self, base: str, values: Mapping[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every tensor in the values of a mapping, each with its key in its name."""
        yield from self._keyed(base, values, _DEEPEST)

    def _inside(self, base: str, value: object, deep: int) -> Iterator[tuple[str, torch.Tensor]]:
        if isinstance(value, torch.Tensor):
            plain = type(value) is torch.Tensor
            yield self._numbered(base if plain else f"{base}_{type(value).__name__}"), value
        elif deep == 0:
            return
        elif isinstance(value, Mapping):
            yield from self._keyed(base, value, deep - 1)
        elif isinstance(value, (tuple, list)):
            for inner in value:
                yield from self._inside(base, inner, deep - 1)
        elif is_dataclass(value):
            values = {one.name: getattr(value, one.name, None) for one in fields(value)}
            yield from self._keyed(base, values, deep - 1)

    def _keyed(
        self, base: str, values: Mapping[str, object], deep: int
    ) -> Iterator[tuple[str, torch.Tensor]]:
        for key, value in values.items():
            inner = f"{base}_{key}"
            if type(value) is torch.Tensor:
                number = self._count(inner)
                yield (f"{inner}_{number}" if number else inner), value
            else:
                yield from self._inside(inner, value, deep)

    def _numbered(self, base: str) -> str:
        return f"{base}_{self._count(base)}"

    def _count(self, base: str) -> int:
        number = self._next.get(base, 0)
        self._next[base] = number + 1
        return number
