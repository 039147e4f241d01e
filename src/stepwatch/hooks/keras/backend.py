"""What the backends of Keras have in common: how a step is traced, and what leaves it.

A step runs as Python each time, or once: it is traced, and what was traced runs from then on.
Either way the same is called of us: a layer returned, a loss was computed, an optimizer is given
gradients. What is observed so is noted here, and leaves the step as a further output of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Protocol

import keras
import numpy as np
import numpy.typing as npt

from ...capture.open_step import OpenStep
from ..observations import Reader, TensorRef


class StepTrace:
    """Gathers what is observed in one step.

    Args:
        scope_of: Returns something that is equal as long as values may leave the step from where
            it is called: inside of a loop, or of what is differentiated, they may not.
    """

    def __init__(self, scope_of: Callable[[], object]) -> None:
        self._scope_of = scope_of
        self._scope = scope_of()
        self.observed: list[TensorRef] = []
        #: What was computed where it cannot leave the step, and is not observed.
        self.missed: set[str] = set()
        #: The optimizers that were given gradients.
        self.optimizers: list[object] = []

    def add(self, name: str, collection: str, value: Any) -> None:
        """Note a tensor; one that cannot leave the step is noted as missed."""
        if self._scope_of() == self._scope:
            self.observed.append(TensorRef(name, collection, value))
        else:
            self.missed.add(name)

    @contextmanager
    def within(self) -> Iterator[list[TensorRef]]:
        """Enter what is differentiated; yield what is observed inside, complete at the end.

        The values are of no use outside; whoever enters brings them out and adds them again.
        """
        outer, scope = self.observed, self._scope
        self.observed, self._scope = [], self._scope_of()
        try:
            yield self.observed
        finally:
            self.observed, self._scope = outer, scope


Array = npt.NDArray[np.generic]
EagerObserver = Callable[[OpenStep, str, Any, str], None]

#: The keys of what an instrumented step returns: its own result, and what leaves beside it.
RETURNED, SIDE_OUTPUT = "returned", "stepwatch"


class Session(Protocol):
    """Observes what a model runs for each batch."""

    def begins(self, trainable: Sequence[Any], non_trainable: Sequence[Any]) -> None:
        """A batch is about to run, with these values of the model's variables."""

    def collecting(self) -> AbstractContextManager[StepTrace]:
        """What runs inside is a step, or is traced as one."""

    def packed(self, trace: StepTrace) -> dict[str, Any]:
        """Return what was observed in a form in which it can leave the step."""

    def note(self, what: str) -> None:
        """Add to the coverage line what is not captured."""

    def ran(self, beside: Mapping[str, Any], returned: object, kept: Sequence[Any]) -> None:
        """A batch ran.

        Args:
            beside: What ``packed`` returned for it, with values.
            returned: What the step returned.
            kept: The values of the optimizer's variables.
        """


class Backend(Reader, Protocol):
    """How a backend runs models."""

    #: Observes a value at once, where it may be changed in place a moment later: a step, a
    #: name, a value and a collection.
    at_once: EagerObserver | None = None

    def dtype_name(self, value: Any) -> str:
        return str(keras.backend.standardize_dtype(value.dtype))

    def finish(self) -> None:
        """A step ends: observe what is still on an accelerator."""
        return

    def scope(self) -> object:
        """Return something that is equal wherever the values of one trace may be used."""

    def instrument(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        """Return what a model is to run for each batch instead of what it makes itself.

        Args:
            kind: ``train``, ``test`` or ``predict``.
            make: Lets the model make its function, and keep it as ``train_function`` and so on.
        """

    def stored(self, value: Any) -> Any:
        """Return what is stored of a gradient, as one tensor; of a sparse one its rows."""
        return value


def backend() -> Backend:
    """Return the one that Keras uses."""
    made: Backend = import_module(f".{keras.backend.backend()}_backend", __package__).BACKEND()
    return made


@contextmanager
def temporary_attributes(owner: Any, **stand_ins: Any) -> Iterator[None]:
    """Let an object have other attributes for a while."""
    own = vars(owner)
    before = {name: own[name] for name in stand_ins if name in own}
    own.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del own[name]
        own.update(before)


def is_real(value: Any) -> bool:
    """Return whether a tensor has a dtype with an order."""
    kind = str(keras.backend.standardize_dtype(value.dtype))
    return kind.startswith(("float", "bfloat", "int", "uint", "bool"))


def tensors_in(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors in what a layer takes or returns, with the path to each.

    Example:
        ``{"a": x, "b": (y, z)}`` yields ``/a``, ``/b/0`` and ``/b/1``.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from tensors_in(part, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from tensors_in(part, f"{path}/{number}")
    elif keras.ops.is_tensor(value) and is_real(value):
        yield path, value
