"""The names of blocks and parameters, found as the script uses its models."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from mxnet.gluon import Block, Parameter


class Names:
    """Names of the blocks and parameters of every model that ran.

    They are paths, as in the files of ``Block.save_parameters``. Those of the first model are its
    own; those of a further model begin with its name in Gluon, ``hybridsequential1.0.weight``.
    """

    def __init__(self) -> None:
        self._blocks: WeakKeyDictionary[Block, str] = WeakKeyDictionary()
        self._parameters: WeakKeyDictionary[Parameter, str] = WeakKeyDictionary()
        self._roots: list[tuple[weakref.ref[Block], str]] = []

    @property
    def roots(self) -> list[Block]:
        """The models, in the order in which they first ran."""
        return [block for root, _ in self._roots if (block := root()) is not None]

    def add(self, root: Block) -> None:
        """Name everything in a model; what has a name keeps it."""
        prefix = next((prefix for known, prefix in self._roots if known() is root), None)
        if prefix is None:
            prefix = f"{root.name}." if self._roots else ""
            self._roots.append((weakref.ref(root), prefix))
        for path, block in _paths(root):
            whole = prefix + path if path else prefix[:-1] or type(root).__name__
            self._blocks.setdefault(block, whole)
            inside = f"{prefix}{path}." if path else prefix
            for key, parameter in block._reg_params.items():
                self._parameters.setdefault(parameter, inside + key)

    def is_plain(self, root: Block) -> bool:
        """Return whether this is the model whose names are its own paths."""
        return any(known() is root and not prefix for known, prefix in self._roots)

    def of(self, block: Block) -> str | None:
        """Return the name of a block, ``None`` if it has none."""
        return self._blocks.get(block)

    def of_parameter(self, parameter: Parameter) -> str:
        """Return the name of a parameter; of one outside of all models that in Gluon."""
        name: str = self._parameters.get(parameter) or parameter.name
        return name

    def blocks(self) -> dict[str, tuple[Block, bool]]:
        """Return all blocks by name, each with whether it lies inside of a hybridized one."""
        found: dict[str, tuple[Block, bool]] = {}
        for root in self.roots:
            hidden: set[Block] = set()
            for _, block in _paths(root):
                if block in hidden or getattr(block, "_active", False):
                    hidden.update(block._children.values())
                if block in self._blocks:
                    found.setdefault(self._blocks[block], (block, block in hidden))
        return found


def parameters_of(root: Block) -> Iterator[Parameter]:
    """Yield the parameters of a model, each once, those of its parts included."""
    seen: set[Parameter] = set()
    for _, block in _paths(root):
        for parameter in block._reg_params.values():
            if parameter not in seen:
                seen.add(parameter)
                yield parameter


def _paths(root: Block) -> Iterator[tuple[str, Block]]:
    """Yield a model and its parts with their paths, each part before its own, and once."""
    seen = {root}
    waiting = [("", root)]
    while waiting:
        path, block = waiting.pop()
        yield path, block
        inside = f"{path}." if path else ""
        children = [
            (inside + key, child) for key, child in block._children.items() if child not in seen
        ]
        seen.update(child for _, child in children)
        waiting.extend(reversed(children))
