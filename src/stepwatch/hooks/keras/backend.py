"""What the backends of Keras do each in their own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Protocol

import keras
import numpy as np
import numpy.typing as npt

from ...capture.open_step import OpenStep
from ..observed.observations import Reader
from .taken import Taken

Array = npt.NDArray[np.generic]
AtOnce = Callable[[OpenStep, str, Any, str], None]

#: Under these keys a step that is watched returns what it is to return, and what leaves beside it.
RETURNED, BESIDE = "returned", "stepwatch"


class Session(Protocol):
    """Who watches a model's function."""

    def begins(self, trainable: Sequence[Any], non_trainable: Sequence[Any]) -> None:
        """A batch is about to run, with these values of the model's variables."""

    def taking(self) -> AbstractContextManager[Taken]:
        """What runs inside is a step, or is traced as one."""

    def packed(self, taken: Taken) -> dict[str, Any]:
        """Return what was met in a form in which it can leave the step."""

    def note(self, what: str) -> None:
        """Say in the coverage line what is not captured."""

    def ran(self, beside: Mapping[str, Any], returned: object, kept: Sequence[Any]) -> None:
        """A batch ran.

        Args:
            beside: What ``packed`` returned for it, with values.
            returned: What the step returned.
            kept: The values of the optimizer's variables.
        """


class Backend(Reader, Protocol):
    """How a backend runs models."""

    #: Observes what is met at once, where it may be changed in place a moment later: a step, a
    #: name, a value and a collection.
    at_once: AtOnce | None

    def finish(self) -> None:
        """A step ends: observe what is still on an accelerator."""

    def place(self) -> object:
        """Return what is equal wherever the values of here are of use."""

    def watch(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        """Return what a model is to run for each batch instead of what it makes itself.

        Args:
            model: A built model.
            kind: ``train``, ``test`` or ``predict``.
            make: Lets the model make its function, and keep it as ``train_function`` and so on.
            session: Who watches.
        """

    def stored(self, value: Any) -> Any:
        """Return what is stored of a gradient, as one tensor; of a sparse one its rows."""


def backend() -> Backend:
    """Return the one that Keras uses."""
    made: Backend = import_module(f".on_{keras.backend.backend()}", __package__).BACKEND()
    return made


@contextmanager
def in_place(owner: Any, **stand_ins: Any) -> Iterator[None]:
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
