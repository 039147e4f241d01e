"""What the backends of Keras have in common: how a step is traced, and what leaves it.

A step runs as Python each time, or once: it is traced, and what was traced runs from then on.
Either way the same is called of us: a layer returned, a loss was computed, an optimizer is given
gradients. What is observed so is noted here, and leaves the step as a further output of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import keras
import numpy as np
import numpy.typing as npt

from ...capture.open_step import OpenStep
from ...model.record import Layout, StepRecord
from ..losses import LossCall
from ..observations import Outputs, Reader, TensorRef


@dataclass
class StepFacts:
    """What is known of a step besides its tensors: the same whenever it runs.

    Args:
        calls: The losses that were computed, by name without ``loss/``.
        batches: The names of what models were called with.
        num_calls: How often a model was called with something.
        modules: Calls of layers that know training from evaluation,
        modules_in_training: and how many of them were as in training.
        in_training: Whether a model was called as in training; what is in it and computes otherwise
            does so on purpose.
        dropout: The largest share that one of these dropped.
        normalizes_batch: Whether one of them took the statistics of the batch.
        num_losses: How many losses the script computed itself.
        num_stale: How many gradients hold those of the step before, too.
        num_left: How many hold what the backward pass for another optimizer left there; ``None``
            where that is not known.
        num_updates: How often optimizers were given gradients,
        num_backwards: and how often the script computed these of losses of their own.
        compared: With how many targets, or weights, the last of these puts each prediction
            together, by its graph; 0 for as many as a batch has, ``None`` where that is not known.
        see_later: The layers that give each position of a sequence what comes after it.
        masked: The layers of attention whose masks say what each position sees.
        same_noise: The layers that draw for a batch by a seed that is a number.
        mistakes: What was found of graphs of losses and of optimizers, as numbers of ``setup``.
        untracked: Layers with weights of their own that ran within the model, and are none of it.
        asked: Models that the step calls as in training, or not: the id of what they were given,
            themselves, and whether as in training.
        updated: The ids of the variables whose gradients optimizers were given.
        penalties: The layers that added penalties when they ran,
        reads_penalties: and whether anything asked for those of a model.
    """

    calls: dict[str, LossCall] = field(default_factory=dict)
    batches: list[str] = field(default_factory=list)
    num_calls: int = 0
    modules: int = 0
    modules_in_training: int = 0
    in_training: bool = False
    dropout: float = 0.0
    normalizes_batch: bool = False
    num_losses: int = 0
    num_stale: int = 0
    num_left: int | None = None
    num_updates: int = 0
    num_backwards: int = 0
    compared: float | None = None
    see_later: set[str] = field(default_factory=set)
    masked: set[str] = field(default_factory=set)
    same_noise: set[str] = field(default_factory=set)
    mistakes: dict[str, float] = field(default_factory=dict)
    untracked: list[Any] = field(default_factory=list)
    asked: list[tuple[int, Any, bool]] = field(default_factory=list)
    updated: set[int] = field(default_factory=set)
    penalties: set[str] = field(default_factory=set)
    reads_penalties: bool = False


class StepTrace:
    """Gathers what is observed in one step.

    Args:
        scope_of: Returns something that is equal as long as values may leave the step from where
            it is called: inside of a loop, or of what is differentiated, they may not.
        only_losses: Whether nothing else is observed.
    """

    def __init__(self, scope_of: Callable[[], object], *, only_losses: bool = False) -> None:
        self.only_losses = only_losses
        self._scope_of = scope_of
        self._scope = scope_of()
        self.observed: list[TensorRef] = []
        #: What was computed where it cannot leave the step, and is not observed.
        self.missed: set[str] = set()
        #: The optimizers that were given gradients.
        self.optimizers: list[object] = []
        self.facts = StepFacts()
        self._num_differentiated = 0  # losses, when gradients were computed or used last

    def differentiated(self) -> None:
        """Gradients were computed, or are used: they are those of losses that are new since."""
        if self.facts.num_losses > self._num_differentiated:
            self._num_differentiated = self.facts.num_losses
            self.facts.num_backwards += 1

    def add(self, tensor_ref: TensorRef) -> None:
        """Note a tensor; one that cannot leave the step is noted as missed."""
        if self._scope_of() == self._scope:
            self.observed.append(tensor_ref)
        else:
            self.missed.add(tensor_ref.name)

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
EagerObserver = Callable[[OpenStep, str, Any, str, str], None]

#: The key of its own result in what an instrumented step returns.
RETURNED = "stepwatch/returned"


#: The values of the variables of a model, of those that are trained and of the others.
Variables = tuple[Sequence[Any], Sequence[Any]]


class Reading(Protocol):
    """How what is observed of a step is read, once the step is over."""

    def is_ready(self) -> bool:
        """Return whether it is computed."""

    def wait(self) -> None:
        """Wait until it is."""

    def numbers(self) -> tuple[Layout, tuple[float, ...]] | None:
        """Return all there is to read, if it is as of a step that was read before: see ``read``."""

    def read(self) -> None:
        """Read it into the open step."""

    def was_read(self, record: StepRecord) -> None:
        """The step that was read is closed, and held nothing else: others may be like it."""


#: Returns what is to leave a step.
Leave = Callable[[], Sequence[Any]]


class Session(Protocol):
    """Observes what a model runs for each batch."""

    def begins(self, variables: Callable[[], Variables]) -> bool:
        """A batch is about to run.

        Args:
            variables: Returns the values of the model's variables.

        Returns:
            Whether nothing but losses is observed of it.
        """

    def collecting(self, *, only_losses: bool = False) -> AbstractContextManager[StepTrace]:
        """What runs inside is a step, or is traced as one."""

    def compiling(self) -> AbstractContextManager[None]:
        """What runs inside is compiled for us only."""

    @property
    def thins(self) -> bool:
        """Whether nothing but losses may be observed of some batches."""

    def packed(
        self, trace: StepTrace, when: Callable[[Leave], Sequence[Any]] | None = None
    ) -> dict[str, Any]:
        """Return what was observed in a form in which it can leave the step, beside ``RETURNED``.

        It is flat: TensorFlow rebuilds all that is nested in Python, for every batch.

        Args:
            when: Makes it leave the step only where more than losses is observed of it.
        """

    def note(self, what: str) -> None:
        """Add to the coverage line what is not captured."""

    def ran(
        self,
        beside: Mapping[str, Any],
        returned: object,
        variables: Callable[[], Variables],
        optimizer_variables: Callable[[], Sequence[Any]],
    ) -> None:
        """A batch ran.

        Args:
            beside: What ``packed`` returned for it, with values, and ``RETURNED``.
            returned: What the step returned.
            variables: Returns the values of the model's variables, after it.
            optimizer_variables: Returns the values of the optimizer's variables.
        """


class Backend(Reader, Protocol):
    """How a backend runs models."""

    #: Observes a value at once, where it may be changed in place a moment later: a step, a
    #: name, a value, a collection and a function.
    at_once: EagerObserver | None = None
    #: Whether a step returns before it was computed, and what it returned stays as it is.
    returns_early: bool = False
    #: Whether what runs for each batch is Python only as it is traced.
    traces: bool = True

    def dtype_name(self, value: Any) -> str:
        return str(keras.backend.standardize_dtype(value.dtype))

    def finish(self) -> None:
        """A step ends: observe what is still on an accelerator."""
        return

    def scope(self) -> object:
        """Return something that is equal wherever the values of one trace may be used."""

    def is_ready(self, values: Any) -> bool:
        """Return whether values are computed, so that ``wait`` would return at once."""
        del values
        return True

    def wait(self, values: Any) -> None:
        """Wait until what a step returned is computed."""
        del values

    def instrument(
        self, model: Any, kind: str, make: Callable[[], None], session: Session
    ) -> Callable[..., Any]:
        """Return what a model is to run for each batch instead of what it makes itself.

        Args:
            kind: ``train``, ``test`` or ``predict``.
            make: Lets the model make its function, and keep it as ``train_function`` and so on.
        """

    def as_outputs(self, values: Sequence[Any]) -> Outputs:
        """Return tensors as they are to leave a step, and what gets them back from these."""
        return values, lambda left: left

    def stored(self, value: Any) -> Any:
        """Return what is stored of a gradient, as one tensor; of a sparse one its rows."""
        return value

    def is_stale(self, gradients: Sequence[Any]) -> bool:
        """Return whether gradients that are applied hold those of the step before, too."""
        del gradients  # most backends compute them anew
        return False

    def num_left(self, optimizer: Any, variables: Sequence[Any]) -> int | None:
        """Return how many gradients that are applied hold what was left there for another.

        ``None`` where that is not known, and where there is no other optimizer.
        """
        del optimizer, variables
        return None


def backend() -> Backend:
    """Return the one that Keras uses."""
    made: Backend = import_module(f".{keras.backend.backend()}_backend", __package__).BACKEND()
    return made


def made_function(model: Any, kind: str, make: Callable[[], None], **stand_ins: Any) -> Any:
    """Return the function that a model makes with other attributes; it keeps the one it has."""
    name = f"{kind}_function"
    held = getattr(model, name)
    with temporary_attributes(model, **stand_ins):
        make()
    function = getattr(model, name)
    setattr(model, name, held)
    return function


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


def is_floating(value: Any) -> bool:
    """Return whether a tensor, or a variable, is of floating-point numbers."""
    return str(keras.backend.standardize_dtype(value.dtype)).startswith(("float", "bfloat"))


def tensors_in(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors in what a layer takes or returns, with the path to each.

    Arrays are tensors, too: on PyTorch ``train_on_batch`` gives those to the model as they are.

    Example:
        ``{"a": x, "b": (y, z)}`` yields ``/a``, ``/b/0`` and ``/b/1``.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from tensors_in(part, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from tensors_in(part, f"{path}/{number}")
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "fiub":
            yield path, keras.ops.convert_to_tensor(value)
    elif keras.ops.is_tensor(value) and is_real(value):
        yield path, value
