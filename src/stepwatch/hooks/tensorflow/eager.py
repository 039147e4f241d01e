"""Which operations a loss is made of where TensorFlow runs them at once, with no graph of them.

TensorFlow calls back for each operation of a thread, as its debugger has it. What is kept of one
are its type and the shapes that it was given and made, and no tensor.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tensorflow.python.framework import op_callbacks


@dataclass(frozen=True, slots=True, eq=False)
class EagerOperation:
    """One that ran: like one of a graph to who reads types, shapes and what lies before.

    Args:
        name: What no other has.
        type: As graphs call it; empty for what made a tensor before anybody looked.
        inputs: What it was given.
        shape: Of what it made.
    """

    name: str
    type: str
    inputs: tuple[EagerInput, ...] = ()
    shape: Any = None

    @property
    def outputs(self) -> tuple[EagerInput]:
        return (EagerInput(self.shape, self),)


@dataclass(frozen=True, slots=True, eq=False)
class EagerInput:
    """A tensor that an operation was given: its shape, and what it was made by."""

    shape: Any
    op: EagerOperation


_UNKNOWN = EagerOperation("", "")


class EagerOperations:
    """Notes operations of some types while it watches.

    Args:
        types: The types of what is noted; all others end what is known of a tensor.
    """

    def __init__(self, types: frozenset[str]) -> None:
        self._types = types
        self._made: dict[int, tuple[weakref.ref[Any], EagerOperation]] = {}
        self._num_noted = 0
        self._watches = False

    def begin(self) -> None:
        """Watch what this thread runs from here on, and forget what was noted."""
        self._made = {}
        if not self._watches:
            op_callbacks.add_op_callback(self._ran)
            self._watches = True

    def end(self) -> None:
        """Watch no longer; what was noted stays until the next time."""
        if self._watches:
            self._watches = False
            with suppress(KeyError):  # another thread's, which then notes nothing more
                op_callbacks.remove_op_callback(self._ran)

    def made(self, tensor: Any) -> EagerOperation:
        """Return what a tensor was made by, one without a type where that was not noted."""
        of_tensor, operation = self._made.get(id(tensor), (None, _UNKNOWN))
        is_same = of_tensor is not None and of_tensor() is tensor  # ids are used again
        return operation if is_same else _UNKNOWN

    def _ran(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: Any,  # noqa: ARG002
        outputs: Sequence[Any],
        op_name: Any = None,  # noqa: ARG002
        graph: Any = None,
    ) -> None:
        if self._watches and graph is None and op_type in self._types and len(outputs) == 1:
            with suppress(Exception):  # nothing of ours may end what the script runs
                given = tuple(EagerInput(one.shape, self.made(one)) for one in inputs)
                self._num_noted += 1
                name = str(self._num_noted)
                operation = EagerOperation(name, op_type, given, outputs[0].shape)
                self._made[id(outputs[0])] = weakref.ref(outputs[0]), operation
