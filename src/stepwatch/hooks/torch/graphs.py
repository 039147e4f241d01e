"""What runs inside compiled graphs: its statistics are taken while a graph runs.

A hook that a compiler traces adds the statistics of a tensor to a *slot*, a tensor of ours that
the graph changes in place. No value of the model leaves the graph, and nothing breaks it. On the
host an operator of ours does that, which a compiler takes as it is: it computes nothing in a step
of which only losses are observed. On an accelerator operations of the graph do. A graph
that several modules share, as the blocks of a model that are compiled one by one, has one set of
slots: they are emptied after each of these modules, and become rows of the open step.

A slot holds ``SLOT_WIDTH`` float64: a packed row, merged over the runs of the graph, and the shape
of the last tensor as far as ``MOST_AXES``.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from ...capture.open_step import OpenStep
from ...capture.plan import Plans
from ...model.record import TensorInfo
from ...numerics import packed
from ...numerics.statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NEGINF,
    NUM_FIELDS,
    SUM,
    merge,
    summarize_into,
)
from ..observations import OURS
from .attention_rows import attention_rows
from .device import PackedBits
from .internals import (
    Loss,
    copy_all,
    enclosing_operators,
    has_unknown_shape,
    in_transform,
    is_fake,
    mark_static,
    traced_frames,
    traced_tensor_of,
    traced_value,
)
from .models import TORCH, Names, TorchLossNames
from .observe import Observer
from .tensors import dtype_name, read_tensors, to_numpy

Rows = npt.NDArray[np.float64]

#: Of more axes the shape has no room in a slot.
MOST_AXES = 8
# Slots lie 32 float64 apart: kernels may want addresses that are multiples of 256 bytes.
SLOT_WIDTH = 32
#: A slot to which nothing was added, shape ``[SLOT_WIDTH]``.
EMPTY = np.concatenate([packed.EMPTY, np.zeros(SLOT_WIDTH - NUM_FIELDS)])
DTYPES = frozenset(
    {torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.bool, torch.uint8}
    | {torch.int8, torch.int16, torch.int32, torch.int64}
)


def add_to_slot(slot: torch.Tensor, tensor: torch.Tensor) -> None:
    """Add the statistics of a tensor to its slot; a compiler traces this.

    Args:
        slot: Shape ``[SLOT_WIDTH]``, float64, where the tensor is.
        tensor: Of one of ``DTYPES`` and at most ``MOST_AXES`` axes; not empty.
    """
    # Not flattened: the compiler then reads in the order of memory, which it may choose itself.
    values = tensor.detach()
    if not values.is_floating_point():
        values = values.to(torch.float64)
    elif values.dtype.itemsize < 4:
        values = values.to(torch.float32)
    magnitude = values.abs()
    infinity = float("inf")
    finite = magnitude < infinity
    wide = torch.where(finite, values, 0.0).to(torch.float64)
    fields = (
        # 32 bits as the elements have: they share the lanes of a vector.
        (values != values).sum(dtype=torch.int32),
        (values == infinity).sum(dtype=torch.int32),
        (values == -infinity).sum(dtype=torch.int32),
        (values == 0).sum(dtype=torch.int32),
        torch.where(finite, values, infinity).amin(),
        torch.where(finite, values, -infinity).amax(),
        wide.sum(),
        wide.abs().sum(),
        (wide * wide).sum(),
        torch.where(finite, magnitude, infinity).amin(),
    )
    sizes = (values.numel(), *tensor.shape)
    counts = [torch.full((), size, dtype=torch.float64, device=values.device) for size in sizes]
    new = torch.stack([counts[0], *(field.to(torch.float64) for field in fields), *counts[1:]])
    new = torch.nn.functional.pad(new, (0, SLOT_WIDTH - len(new)))
    # Without a view of the slot: a compiler takes each for one more input.
    field = torch.arange(SLOT_WIDTH, device=values.device)
    merged = torch.where((field < MIN) | (field >= SUM), slot + new, torch.minimum(slot, new))
    merged = torch.where(field == MAX, torch.maximum(slot, new), merged)
    merged = torch.where(field == ABS_MIN, torch.minimum(slot, new), merged)
    slot.copy_(torch.where(field < NUM_FIELDS, merged, new))


def add_on_host(slot: Rows, tensor: torch.Tensor) -> None:
    """Add the statistics of a tensor to its slot; the same as ``add_to_slot``, computed now.

    Args:
        slot: Shape ``[SLOT_WIDTH]``.
        tensor: On the host, not empty.
    """
    rows = np.empty((2, NUM_FIELDS))
    if not read_tensors((tensor,), rows[:1].__array_struct__, 0):
        summarize_into(to_numpy(tensor), rows[0])
    row = rows[0]
    if slot[COUNT]:
        rows[1] = statistics_of(slot[None])[0]
        row = merge(rows)
    slot[:NUM_FIELDS] = np.where(np.isnan(row), packed.EMPTY, row)
    slot[NUM_FIELDS:] = 0
    slot[NUM_FIELDS : NUM_FIELDS + tensor.ndim] = tensor.shape


def statistics_of(slots: Rows) -> Rows:
    """Return what slots hold, shape ``[slots, SLOT_WIDTH]``, as rows ``[slots, NUM_FIELDS]``."""
    return packed.unpack_rows(slots[:, :MIN], slots[:, MIN:NUM_FIELDS])


def shape_of(slot: Rows, num_axes: int) -> tuple[int, ...]:
    """Return the shape of the last tensor that was added to a slot."""
    return tuple(int(size) for size in slot[NUM_FIELDS : NUM_FIELDS + num_axes])


Answer = TypeVar("Answer")

#: Whose slots hold sampled logits and entropies.
ATTENTION = "attention"

# Those whose graphs call the operators, by the number that these are given.
_OWNERS: weakref.WeakValueDictionary[int, GraphSlots] = weakref.WeakValueDictionary()
_numbers = count()


def _add_tensor(slot: torch.Tensor, tensor: torch.Tensor, owner: int, is_loss: bool) -> None:
    """Add a tensor to its slot, unless it is left out in the step that runs.

    Args:
        slot: Shape ``[SLOT_WIDTH]``, float64.
        tensor: On the host.
        owner: The number of the ``GraphSlots``.
        is_loss: Whether it is in each step.
    """
    slots = _OWNERS.get(owner)
    if slots is not None and (is_loss or slots.observes()):
        with suppress(Exception):  # what is not observed must not end a training
            add_on_host(slot.numpy(), tensor)


def _add_attention(
    logits: torch.Tensor,
    entropy: torch.Tensor,
    given: list[torch.Tensor],
    is_causal: bool,
    scale: float | None,
    owner: int,
) -> None:
    """Add to two slots what attention computed from ``given``; see ``attention_rows``."""
    slots = _OWNERS.get(owner)
    if slots is not None and slots.observes():
        with suppress(Exception):  # as above
            rows = attention_rows(*given, is_causal=is_causal, scale=scale)
            for slot, values in zip((logits, entropy), rows, strict=True):
                add_on_host(slot.numpy(), values)


def _define_operators() -> Any:
    """Return the library that has the operators: they are there as long as it is.

    A compiler knows what they change, and may give them a tensor as it lies in memory.
    """
    library: Any = torch.library.Library("stepwatch", "FRAGMENT")  # type: ignore[no-untyped-call]
    tags = [tag for tag in [getattr(torch.Tag, "flexible_layout", None)] if tag is not None]
    for function, arguments in (
        (_add_tensor, "Tensor(a!) slot, Tensor tensor, int owner, bool is_loss"),
        (
            _add_attention,
            "Tensor(a!) logits, Tensor(b!) entropy, Tensor[] given, bool is_causal, float? scale,"
            " int owner",
        ),
    ):
        name = function.__name__.removeprefix("_")
        library.define(f"{name}({arguments}) -> ()", tags=tags)
        library.impl(name, function, "CPU")
        library.impl(name, lambda *_: None, "Meta")
    return library


_LIBRARY = _define_operators()


class GraphProbe:
    """Sees values while a compiler traces the code that computes them.

    What it asks for is answered while the code is compiled, and is a constant of the graph.

    Args:
        slot_of: Returns the name of the slot of the value that is traced as ``tensor``, by what it
            is and where in a nested value it lies; nothing if it has none.
        has_fixed_shape: Returns whether that value has the same shape whenever the graph runs.
        slots: Has the slots, by name.
        owner: Whose slots they are, for the operators.
    """

    def __init__(
        self,
        slot_of: Callable[[str, str], str],
        has_fixed_shape: Callable[[], bool],
        slots: object,
        owner: int,
    ) -> None:
        self._slot_of = _constant(slot_of)
        self._has_fixed_shape = _constant(has_fixed_shape)
        self._slots = slots
        self._owner = owner

    def record(self, what: str, value: object, inner: str = "") -> None:
        """See a value, or all tensors in it."""
        if isinstance(value, torch.Tensor):
            self._add(what, inner, value)
        elif isinstance(value, dict):
            for key, part in value.items():
                self.record(what, part, f"{inner}/{key}")
        elif isinstance(value, (tuple, list)):
            for index, part in enumerate(value):
                self.record(what, part, f"{inner}/{index}")
        elif hasattr(value, "__dataclass_fields__"):
            for key in value.__dataclass_fields__:
                self.record(what, getattr(value, key), f"{inner}/{key}")

    def on_attention(
        self, rows: Callable[..., Any], given: Sequence[torch.Tensor], **how: Any
    ) -> None:
        """See what attention computed; see ``Attention.observe``."""
        if is_host(given[0].device):
            self._add_attention(given[0], given, **how)
            return
        # Which rows are sampled depends on the shapes: others would be compiled anew.
        if all(self._is_fixed(tensor) for tensor in given):
            logits, entropy = rows(*(tensor.detach() for tensor in given), **how)
            self.record(ATTENTION, {"logits": logits, "entropy": entropy})

    def _add(self, what: str, inner: str, tensor: torch.Tensor) -> None:
        slot = self._slot_of(what, inner)
        if slot and is_host(tensor.device):
            torch.ops.stepwatch.add_tensor(
                getattr(self._slots, slot), tensor.detach(), self._owner, what not in _KINDS
            )
        elif slot:
            add_to_slot(getattr(self._slots, slot), tensor)

    def _add_attention(
        self,
        tensor: torch.Tensor,  # noqa: ARG002  it is found in the frame
        given: Sequence[torch.Tensor],
        *,
        is_causal: bool,
        scale: float | None,
    ) -> None:
        logits, entropy = (
            self._slot_of(ATTENTION, "/logits"),
            self._slot_of(ATTENTION, "/entropy"),
        )
        if logits and entropy:
            torch.ops.stepwatch.add_attention(
                getattr(self._slots, logits),
                getattr(self._slots, entropy),
                [one.detach() for one in given],
                is_causal,
                scale,
                self._owner,
            )

    def _is_fixed(self, tensor: torch.Tensor) -> bool:  # noqa: ARG002  it is found in the frame
        return self._has_fixed_shape()  # of what the compiler's frame calls ``tensor``


def _constant(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a function that a compiler calls while it compiles, and whose answer it keeps."""

    def query(*arguments: str) -> Answer:
        return function(*arguments)

    constant: Any = torch.compiler.assume_constant_result
    found: Callable[..., Answer] = constant(query)
    return found


@dataclass(frozen=True, slots=True)
class Traced:
    """A tensor that is being traced.

    Args:
        module: The innermost module that runs.
        root: The module that is compiled; ``None`` where a function is.
        line: The innermost line of the script.
        tensor: What stands for the tensor; it has no values.
        problem: Why its statistics cannot be taken into the graph; empty if they can.
        is_fixed: Whether it has this shape whenever the graph runs.
    """

    module: torch.nn.Module | None
    root: torch.nn.Module | None
    line: object
    tensor: torch.Tensor
    problem: str
    is_fixed: bool


def traced_tensor() -> Traced | None:
    """Return what the calling function's variable ``tensor`` stands for, while it is traced.

    To be called by a function that the compiler calls for a constant.
    """
    frames = traced_frames()
    found = [frame for frame in frames if "tensor" in frame.symbolic_locals]
    if not found:
        return None
    tensor = traced_tensor_of(found[0], "tensor")
    modules = [module for frame in frames if (module := _module_of(frame)) is not None]
    problem = _graph_position_problem(frames[-1]) or _problem(tensor)
    root = _module_of(frames[-1])
    is_fixed = all(type(size) is int for size in tensor.shape)
    module = modules[0] if modules else None
    return Traced(module, root, _script_line(frames), tensor, problem, is_fixed)


def _module_of(frame: Any) -> torch.nn.Module | None:
    """Return the module whose method a frame runs, or which a hook of ours is given."""
    for name in ("self", "module", *frame.f_code.co_varnames[:1]):
        value = traced_value(frame, name)
        if isinstance(value, torch.nn.Module):
            return value
    return None


def _script_line(frames: list[Any]) -> object:
    for frame in frames:
        file = frame.f_code.co_filename
        if not file.startswith((OURS, TORCH)):
            return file, frame.lineno
    return None


def _problem(tensor: torch.Tensor) -> str:
    if not is_fake(tensor) or tensor.layout is not torch.strided:
        return f"{type(tensor).__name__} inside a compiled graph"
    if tensor.dtype not in DTYPES:
        return f"{str(tensor.dtype).removeprefix('torch.')} inside a compiled graph"
    if tensor.ndim > MOST_AXES or has_unknown_shape(tensor):
        return "shape inside a compiled graph"
    return "empty" if tensor.numel() == 0 else ""


def _graph_position_problem(frame: Any) -> str:
    """Return why nothing may be changed at this place of a graph."""
    if in_transform():
        return "inside vmap or grad"
    others = (o for o in enclosing_operators(frame) if "checkpoint" not in str(o).lower())
    operator = next(others, None)
    return "" if operator is None else f"inside {operator} of a compiled graph"


_log = logging.getLogger("stepwatch")
Module = torch.nn.Module
_CHUNK = 256

# To which collection belongs what is seen, if it is no loss.
_KINDS = {"output": "outputs", ATTENTION: ATTENTION}


def is_host(device: torch.device) -> bool:
    """Return whether what a device holds can be read without a transfer."""
    return device.type == "cpu"


@dataclass(frozen=True, slots=True)
class SlotSource:
    """Whose statistics a slot holds.

    Args:
        what: ``output``, ``attention``, or the name of a functional loss or of a class of losses.
        inner: Where in a nested output the tensor lies, such as ``/logits``.
        module: The innermost module that ran.
        root: The module that was compiled, if it was one.
        path: From the root to the module; ``None`` if it is no part of it.
        line: The line of the script.
        dtype: The tensor's.
        num_axes: How many axes it has.
        device: Where it is.
        trains: Whether gradients were computed.
    """

    what: str
    inner: str
    module: weakref.ref[Module] | None
    root: weakref.ref[Module] | None
    path: str | None
    line: object
    dtype: torch.dtype
    num_axes: int
    device: torch.device
    trains: bool

    def is_of(self, owner: Module | None) -> bool:
        """Return whether a graph of this ran for ``owner``, or for a function if that is none."""
        root = self.root() if self.root is not None else None
        return root is None if owner is None else type(owner) is type(root)

    def module_of(self, owner: Module | None) -> Module | None:
        """Return the module for which the graph ran, if it ran for ``owner``."""
        root = self.root() if self.root is not None else None
        is_like = owner is not None and owner is not root and type(owner) is type(root)
        module = self.module() if self.module is not None else None
        if owner is not None and is_like and self.path is not None:
            # One of the same class may have other parts; then the graph ran for another.
            with suppress(AttributeError):
                part = owner.get_submodule(self.path)
                return part if type(part) is type(module) else module
        return module


@dataclass(frozen=True, slots=True)
class SlotReading:
    """What a slot held."""

    source: SlotSource
    module: Module | None
    shape: tuple[int, ...]
    statistics: Rows


class GraphSlots:
    """The slots of all graphs that were compiled while a hook was there.

    Args:
        wants: Whether anything of a collection is ever saved.
        observes: Whether more than losses is observed of what runs now.
    """

    def __init__(
        self,
        wants: Callable[[str], bool] = lambda _: True,
        observes: Callable[[], bool] = lambda: True,
    ) -> None:
        self._wants = wants
        self.observes = observes
        self._sources: list[SlotSource] = []
        self._remote: dict[torch.device, dict[SlotSource, torch.Tensor]] = {}
        self._empty: dict[torch.device, torch.Tensor] = {}
        self._names: dict[SlotSource, str] = {}
        self._tensors = _Tensors()
        self._chunks: list[Rows] = []
        #: The classes of modules that were compiled.
        self.roots: set[type[Module]] = set()
        #: Why what runs in a graph is not observed, by module.
        self.problems: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        #: How often attention was compiled of shapes that may change, which is not seen.
        self.num_attention = 0
        owner = next(_numbers)
        _OWNERS[owner] = self
        self.probe = GraphProbe(self._slot, self._has_fixed_shape, self._tensors, owner)

    @property
    def is_empty(self) -> bool:
        """Whether no graph that was compiled has anything to be observed."""
        return not (self._sources or self._remote)

    def gather(self, owner: Module | None) -> Iterator[SlotReading]:
        """Yield what graphs added since, and empty their slots.

        Args:
            owner: The module that has just run, if one has: a graph ran for it or a part of it.
        """
        for first, chunk in zip(range(0, len(self._sources), _CHUNK), self._chunks, strict=True):
            for row in np.flatnonzero(chunk[:, 0]).tolist():
                source = self._sources[first + row]
                slot = chunk[row].copy()
                chunk[row] = EMPTY
                yield self.gathered(source, slot, owner)

    def clear(self) -> None:
        """Forget what graphs added since."""
        for chunk in self._chunks:
            chunk[:] = EMPTY
        for device, slots in self._remote.items():
            copy_all(list(slots.values()), [self._empty[device]] * len(slots))

    def gather_remote(
        self, owner: Module | None
    ) -> Iterator[tuple[list[SlotSource], torch.Tensor]]:
        """Yield the same of an accelerator, as it is there, shape ``[sources, SLOT_WIDTH]``.

        Which slots are empty is not known there: those are taken of which a graph has run, which
        are the ones like ``owner``; without one those of functions.
        """
        for device, slots in self._remote.items():
            mine = {source: slot for source, slot in slots.items() if source.is_of(owner)}
            if mine:
                tensors = list(mine.values())
                rows = torch.stack(tensors)
                copy_all(tensors, [self._empty[device]] * len(tensors))
                yield list(mine), rows

    def gathered(self, source: SlotSource, slot: Rows, owner: Module | None) -> SlotReading:
        """Return what a slot held, shape ``[SLOT_WIDTH]``."""
        shape = shape_of(slot, source.num_axes)
        return SlotReading(source, source.module_of(owner), shape, statistics_of(slot[None])[0])

    def _slot(self, what: str, inner: str) -> str:
        """Return the name of the slot of what is being traced; nothing if it cannot have one."""
        try:
            traced = traced_tensor() if self._wants(_KINDS.get(what, "losses")) else None
            if traced is None:
                return ""
            if traced.problem:
                if traced.module is not None and traced.problem != "empty":
                    self.problems[traced.module] = traced.problem
                return ""
            if isinstance(traced.module, Loss) and what != type(traced.module).__name__:
                return ""  # the functional one inside of it
            if traced.root is not None:
                self.roots.add(type(traced.root))
            return self._slot_name(_source(what, inner, traced))
        except Exception:  # noqa: BLE001  a compiler must not fail for us, nor a training with it
            _log.debug("what is compiled is not seen", exc_info=True)
            return ""

    def _has_fixed_shape(self) -> bool:
        """Return whether what is being traced has one shape only, and attention is wanted."""
        if not self._wants(ATTENTION):
            return False
        try:
            traced = traced_tensor()
            fixed = traced is not None and traced.is_fixed and not traced.problem
        except Exception:  # noqa: BLE001  as in ``_slot``
            fixed = False
        self.num_attention += not fixed
        return fixed

    def _slot_name(self, source: SlotSource) -> str:
        if source not in self._names:
            slot = self._new_slot(source)
            mark_static(slot)
            self._names[source] = f"slot_{len(self._names)}"
            setattr(self._tensors, self._names[source], slot)
        return self._names[source]

    def _new_slot(self, source: SlotSource) -> torch.Tensor:
        if not is_host(source.device):
            slot = torch.from_numpy(EMPTY.copy()).to(source.device)
            self._remote.setdefault(source.device, {})[source] = slot
            self._empty.setdefault(source.device, slot.clone())
            return slot
        number = len(self._sources)
        if number % _CHUNK == 0:
            self._chunks.append(np.tile(EMPTY, (_CHUNK, 1)))
        self._sources.append(source)
        # A storage of its own: a compiler minds inputs that share one.
        return torch.from_numpy(self._chunks[-1][number % _CHUNK])


class _Tensors:
    """The slots as attributes: a compiler takes one for an input of its graph."""


def _source(what: str, inner: str, traced: Traced) -> SlotSource:
    module, root, tensor = traced.module, traced.root, traced.tensor
    path = None
    if root is not None:
        path = next((path for path, part in root.named_modules() if part is module), None)
    return SlotSource(
        what,
        inner,
        None if module is None else weakref.ref(module),
        None if root is None else weakref.ref(root),
        path,
        None if what in _KINDS else traced.line,
        torch.float32 if what == ATTENTION else tensor.dtype,
        tensor.ndim,
        tensor.device,
        torch.is_grad_enabled(),
    )


class Graphs:
    """Observes what ran inside compiled graphs.

    Args:
        current: Returns the step to which what runs now belongs.
        evaluation: Returns the step to which belongs what ran without gradients, unobserved.
        observes: Whether more than losses is observed of what runs now.
    """

    def __init__(
        self,
        plan: Plans,
        names: Names,
        losses: TorchLossNames,
        observer: Observer,
        current: Callable[[], OpenStep],
        evaluation: Callable[[], OpenStep],
        observes: Callable[[], bool],
    ) -> None:
        self._names = names
        self._losses = losses
        self._observer = observer
        self._current, self._evaluation = current, evaluation
        #: What the graphs have.
        self.slots = GraphSlots(plan.wants, observes)

    def gather(self, owner: torch.nn.Module | None = None) -> bool:
        """Observe what ran since; return whether a loss was among it.

        Args:
            owner: The module that was compiled and has just run, if it is known.
        """
        if self.slots.is_empty:
            return False
        on_loss = False
        for gathered in self.slots.gather(owner):
            known_mode = owner is not None or gathered.source.trains
            step = self._current() if known_mode else self._evaluation()
            on_loss |= self._observe(step, gathered)
        for sources, rows in self.slots.gather_remote(owner):
            step = self._current()
            note = partial(self._note, step, owner, sources)
            self._observer.defer(step, rows.view(torch.int64).reshape(-1), note)
            on_loss |= any(source.line is not None for source in sources)
        return on_loss

    def _note(
        self,
        step: OpenStep,
        owner: torch.nn.Module | None,
        sources: list[SlotSource],
        sent: PackedBits,
    ) -> None:
        slots = sent.view(np.float64).reshape(len(sources), -1)
        for source, slot in zip(sources, slots, strict=True):
            if slot[0]:  # its graph ran
                self._observe(step, self.slots.gathered(source, slot, owner))

    def _observe(self, step: OpenStep, gathered: SlotReading) -> bool:
        """Observe what a slot held; return whether it was a loss."""
        source, name, kind = gathered.source, None, "losses"
        shape, statistics = gathered.shape, gathered.statistics
        if source.what not in ("output", ATTENTION):
            name = self._losses.name(step.mode, source.what, source.line)
        elif (module := self._name_of(gathered)) is not None:
            name, kind = f"{source.what}/{module}{source.inner}", "outputs"
            if source.what == ATTENTION:
                kind, statistics[COUNT] = ATTENTION, statistics[COUNT] - statistics[NEGINF]
                shape, statistics[NEGINF] = (int(statistics[COUNT]),), 0  # what was hidden
            else:
                self._observer.returned.setdefault(module, None)
        if name is not None:
            info = TensorInfo(name, kind, dtype_name(source.dtype), shape)
            self._observer.statistics(step, info, statistics)
        return kind == "losses" and name is not None

    def _name_of(self, gathered: SlotReading) -> str | None:
        module = gathered.module
        if module is None:
            return None
        name = self._names.of(module)
        if name is None:  # a function was compiled, and no hook saw the model
            self._names.add_owners(module.parameters())
            name = self._names.of(module)
        return name
