"""From torch's tensors to rows of the open step; also numbers and summaries on an accelerator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from ...capture.open_step import OpenStep
from ...capture.plan import DIGEST, EXPONENTS, NOTHING, RAW, STATISTICS
from ...model.record import TensorInfo
from ...numerics.statistics import Row, summarize
from .device import DeviceRows, PackedBits, TensorVersion
from .internals import isolated_compute
from .tensors import (
    TrackedParameter,
    dense,
    dtype_name,
    is_distributed,
    is_sparse_or_complex,
    local_shard,
    plain,
    read_tensors,
    shard_info,
    stored_part,
    tensors_in,
    to_numpy,
    unsupported,
    zeros_row,
)

Number = TypeVar("Number", bound=np.generic)

# What may be the very tensor that was just seen as an output.
_ALIASES = ("outputs", "predictions")
_NO_TENSOR = "no tensor in what it returned"

# Inputs are observed only of modules whose output is not finite, and of so many in a step.
MOST_BAD_MODULES = 20


class Observer:
    """Turns tensors into rows of the open step."""

    def __init__(self) -> None:
        self._infos: dict[str, TensorInfo] = {}
        self._numbers: dict[tuple[str, ...], list[TensorInfo]] = {}
        self._device: dict[int, DeviceRows] = {}
        self._bad: WeakKeyDictionary[OpenStep, set[str]] = WeakKeyDictionary()
        self._last: tuple[TensorVersion, OpenStep, int] | None = None
        self._with_gradients = True
        #: Why what could not be observed was not, by name.
        self.refused: dict[str, str] = {}
        #: What was observed so far.
        self.observed: set[str] = set()
        #: The modules that returned, and why what they returned could not be observed, if so.
        self.returned: dict[str, str | None] = {}

    def outputs(self, step: OpenStep, module: str, given: object, output: object) -> None:
        """Observe what a module returned; and what it was given, if that is not finite.

        Args:
            given: Its positional and its keyword arguments, each as a whole.
            output: Of any kind; tensors are looked for in it.
        """
        is_known = module in self.returned
        if is_known and not step.wants("outputs"):
            return
        if type(output) is torch.Tensor and is_known and self.returned[module] is None:
            name = f"output/{module}"
            self.tensor(step, name, output, "outputs")
            if name in step.rows and not step.is_finite(step.rows[name]):
                self._inputs(step, module, given)
            return
        bad, whys = False, []
        for path, tensor in (("", output),) if type(output) is torch.Tensor else tensors_in(output):
            name = f"output/{module}{path}"
            self.tensor(step, name, tensor, "outputs")
            bad = bad or has_non_finite(step, name)
            whys.append(self.refused.get(name))
        if self.returned.get(module, "") is not None:
            self.returned[module] = next(filter(None, whys), None) if whys else _NO_TENSOR
        if bad:
            self._inputs(step, module, given)

    def _inputs(self, step: OpenStep, module: str, given: object) -> None:
        bad = self._bad.setdefault(step, set())
        if module in bad or len(bad) < MOST_BAD_MODULES:
            bad.add(module)
            for part in given if isinstance(given, tuple) else ():
                for path, tensor in tensors_in(part):
                    self.tensor(step, f"input/{module}{path}", tensor, "inputs")

    def parameters(
        self,
        step: OpenStep,
        all_tracked: Sequence[TrackedParameter],
        scale: torch.Tensor | None = None,
    ) -> None:
        """Observe weights, and the gradients of those that have one, as they are now.

        Args:
            scale: By what the optimizer is going to divide the gradients.
        """
        if not all_tracked:
            return
        if scale is None and self._with_gradients and self._add_parameters(step, all_tracked):
            return
        with self._on_device(step).burst():
            for tracked in all_tracked:
                self._parameter(step, tracked, scale)

    def _add_parameters(self, step: OpenStep, all_tracked: Sequence[TrackedParameter]) -> bool:
        """Observe weights and gradients together, where statistics of new ones are all."""
        found = [
            (info, tensor)
            for tracked in all_tracked
            for info, tensor in (
                (tracked.weight, tracked.parameter),
                (tracked.gradient, tracked.parameter.grad),
            )
            if tensor is not None
        ]
        return self._add_together(step, found)

    def tensors(self, step: OpenStep, values: Mapping[str, torch.Tensor], collection: str) -> None:
        """Observe tensors of one collection, by name."""
        found = [
            (self._info(name, collection, dtype_name(value.dtype), value.shape), value)
            for name, value in values.items()
        ]
        if found and not self._add_together(step, found):
            for info, value in found:
                self._add_known(step, info, value)

    def _add_together(
        self, step: OpenStep, found: Sequence[tuple[TensorInfo, torch.Tensor]]
    ) -> bool:
        """Observe tensors if they lie here, are new, and statistics of each are all."""
        names = {info.name for info, _ in found}
        are_new = len(names) == len(found) and names.isdisjoint(step.rows)
        if not (are_new and on_host(found[0][1])):
            return False
        if not names <= step.usual and any(step.level(info) != STATISTICS for info, _ in found):
            return False
        infos, tensors = zip(*found, strict=True)
        added = step.add_read(infos, tensors, read_tensors)
        self.observed.update(names)
        if added < len(infos):
            with self._on_device(step).burst():
                for info, tensor in found[added:]:
                    self._add_known(step, info, tensor)
        return True

    def _parameter(
        self, step: OpenStep, tracked: TrackedParameter, scale: torch.Tensor | None
    ) -> None:
        if tracked.weight.name in step.rows:
            return
        self._add_known(step, tracked.weight, tracked.parameter)
        if self._with_gradients:
            self._gradient(step, tracked, scale)

    def _gradient(
        self, step: OpenStep, tracked: TrackedParameter, scale: torch.Tensor | None
    ) -> None:
        gradient = tracked.parameter.grad
        if gradient is not None:
            self._add_known(step, tracked.gradient, gradient, scale)

    def gradients(self, step: OpenStep, all_tracked: Iterable[TrackedParameter]) -> None:
        """Observe the gradients of parameters, unless those of this step were."""
        with self._on_device(step).burst():
            for tracked in all_tracked:
                if tracked.gradient.name not in step:
                    self._gradient(step, tracked, None)

    @contextmanager
    def without_gradients(self) -> Iterator[None]:
        """Leave gradients out inside: an optimizer will have them computed within its step."""
        self._with_gradients = False
        try:
            yield
        finally:
            self._with_gradients = True

    def loss(self, step: OpenStep, name: str, value: torch.Tensor, function: str) -> bool:
        """Observe a loss, and which function computed it; return whether it could be.

        If nothing else of the step is observed, it is read at once, not when the step ends: that
        waits for the model, but not for the backward pass, and what is not finite is known.
        """
        value = _as_scalar(value)
        if step.has_only_losses and type(value) is torch.Tensor and not on_host(value):
            with isolated_compute(value.device.type):
                value = value.cpu()
        self.tensor(step, name, value, "losses", function)
        return name not in self.refused

    def known_scalar(self, name: str) -> TensorInfo | None:
        """Return what is known of a tensor of one element that was observed before."""
        info = self._infos.get(name)
        return info if info is not None and info.shape == () else None

    def statistics(self, step: OpenStep, info: TensorInfo, row: Row) -> None:
        """Observe a tensor of which only the statistics are known, shape ``[NUM_FIELDS]``."""
        self.observed.add(info.name)
        if step.level(info) != NOTHING:
            step.add_statistics(self._info(info.name, info.collection, info.dtype, info.shape), row)

    def tensor(
        self,
        step: OpenStep,
        name: str,
        value: torch.Tensor,
        collection: str,
        function: str = "",
        trainable: bool | None = None,
    ) -> None:
        """Observe a tensor.

        Args:
            function: The function that computed it, or the loss function that was given it.
            trainable: True for an input that gradients are wanted for.
        """
        shape = () if value.is_nested else value.shape  # a nested one has none
        info = self._info(name, collection, dtype_name(value.dtype), shape, function, trainable)
        self._add_known(step, info, value)

    def scalar(self, step: OpenStep, name: str, value: object, collection: str) -> None:
        if isinstance(value, torch.Tensor):
            self.tensor(step, name, _as_scalar(value), collection)
        else:
            info = self._info(name, collection, "float64", ())
            if isinstance(value, (float, int)):
                step.add_numbers((info,), (value,))
            else:
                step.add(info, np.asarray(value, np.float64))
            self.observed.add(name)

    def numbers(self, step: OpenStep, numbers: Mapping[str, float], collection: str) -> None:
        """Observe numbers of one collection, by name."""
        names = tuple(numbers)
        infos = self._numbers.get(names)
        if infos is None:
            infos = [self._info(name, collection, "float64", ()) for name in names]
            self._numbers[names] = infos
        step.add_numbers(infos, tuple(numbers.values()))
        self.observed.update(names)

    def joined(
        self,
        step: OpenStep,
        name: str,
        collection: str,
        value: npt.NDArray[Number],
        join: Callable[[npt.NDArray[Number], npt.NDArray[Number]], npt.NDArray[Number]],
    ) -> None:
        """Observe an array that goes together with what the same step has of it already.

        Args:
            join: Makes one of what is there and of this.
        """
        if name in step.raw:
            value = join(step.raw[name], value)  # type: ignore[arg-type]  # it is one of these
        info = self._info(name, collection, value.dtype.name, value.shape)
        level = step.level(info)
        if level != NOTHING:
            step.claim(info)[:] = summarize(value)
            step.add_more(info, value, level)
            self.observed.add(name)

    def finish(self) -> None:
        """Bring statistics that are still on an accelerator to the host; a step ends."""
        for rows in self._device.values():
            rows.collect()
        self._device = {}
        self._last = None

    def _add_in_memory(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, level: int
    ) -> bool:
        """Observe a tensor that is new, as most are.

        Returns:
            False, and nothing is added, if it cannot be read as it lies in memory.
        """
        if info.collection in _ALIASES and self._last is not None and type(tensor) is torch.Tensor:
            last, where, row = self._last
            # A container returns what its last child returned; so does a model to its loss.
            if where is step and last.is_same(tensor) and step.alias(info, row):
                return True
        if not (on_host(tensor) and step.add_read_one(info, tensor, read_tensors)):
            return False
        if level > STATISTICS:
            step.add_more(info, to_numpy(tensor), level)
        if info.collection == "outputs":
            self._last = (TensorVersion(tensor), step, step.rows[info.name])
        return True

    def _add_known(
        self,
        step: OpenStep,
        info: TensorInfo,
        tensor: torch.Tensor,
        scale: torch.Tensor | None = None,
    ) -> None:
        """Observe a tensor of which everything is known but its value, divided by ``scale``."""
        name = info.name
        level = STATISTICS if name in step.usual else step.level(info)
        is_new = level != NOTHING and scale is None and name not in step.rows
        if is_new and self._add_in_memory(step, info, tensor, level):
            if name not in self.observed:
                self.observed.add(name)
            return
        if level == NOTHING and info.name in self.observed:
            return
        self.observed.add(info.name)
        why = unsupported(tensor)
        if why is not None:
            tensor, info, why = _inside(tensor, info)
        if why is not None:
            self.refused[info.name] = why
            return
        if level == NOTHING:
            return
        if scale is not None:
            tensor = tensor.detach() / scale
        if is_sparse_or_complex(tensor):
            self._add_uncommon(step, info, tensor, level)
        elif not on_host(tensor):
            self._add_on_device(step, info, tensor, level)
        elif info.collection in _ALIASES:
            self._add_output(step, info, tensor, level)
        else:
            step.add(info, to_numpy(tensor), level)

    def _add_output(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, level: int
    ) -> None:
        if self._last is not None and info.name not in step:
            last, where, row = self._last
            # A container returns what its last child returned; so does a model to its loss.
            if where is step and last.is_same(tensor) and step.alias(info, row):
                return
        added = step.add(info, to_numpy(tensor), level)
        if added is not None and info.collection == "outputs":
            self._last = (TensorVersion(tensor), step, added)

    def _add_uncommon(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, level: int
    ) -> None:
        """Observe a sparse or complex tensor; see ``tensors.stored_part``."""
        values, zeros = stored_part(tensor)
        if on_host(values):
            step.add_statistics(info, summarize(to_numpy(values)))
            if level & EXPONENTS:
                step.add_more(info, to_numpy(values), EXPONENTS)
        else:
            self._add_on_device(step, info, values, level & (STATISTICS | EXPONENTS))
        if zeros:
            step.add_statistics(info, zeros_row(zeros))
        if level & (RAW | DIGEST):
            step.add_more(info, to_numpy(dense(tensor)), level & (RAW | DIGEST))

    def _add_on_device(
        self, step: OpenStep, info: TensorInfo, tensor: torch.Tensor, level: int
    ) -> None:
        if level & RAW:
            step.raw[info.name] = to_numpy(tensor)
        self._on_device(step).observe(info, tensor, level)

    def defer(
        self, step: OpenStep, packed: torch.Tensor, note: Callable[[PackedBits], None]
    ) -> None:
        """Let something be noted: at once, or once it has come from an accelerator.

        Args:
            packed: Integers of 64 bits, one axis.
            note: Called with them as an array.
        """
        if on_host(packed):
            with isolated_compute(packed.device.type):
                found = packed.numpy()
            note(found)
        else:
            self._on_device(step).defer(packed, note)

    def _on_device(self, step: OpenStep) -> DeviceRows:
        if id(step) not in self._device:
            self._device[id(step)] = DeviceRows(step)
        return self._device[id(step)]

    def _info(
        self,
        name: str,
        collection: str,
        dtype: str,
        shape: tuple[int, ...],
        function: str = "",
        trainable: bool | None = None,
    ) -> TensorInfo:
        if name in self._infos:
            info = self._infos[name]
            if info.shape == shape and info.dtype == dtype:
                return info
        info = TensorInfo(name, collection, dtype, tuple(shape), trainable, function=function)
        self._infos[name] = info
        return info


def on_host(tensor: torch.Tensor) -> bool:
    """Return whether a tensor can be read here without a transfer."""
    return tensor.is_cpu


def _inside(tensor: torch.Tensor, info: TensorInfo) -> tuple[torch.Tensor, TensorInfo, str | None]:
    """Return what lies inside of a subclass, what is known of it, and what is unsupported of it."""
    tensor, why = plain(tensor), None
    if is_distributed(tensor):
        tensor, offset, why = local_shard(tensor)
        info = info if offset is None else shard_info(info, offset)
    return tensor, info, why or unsupported(tensor)


def _as_scalar(value: torch.Tensor) -> torch.Tensor:
    """Return a tensor of one element, without dimensions where that needs no other process."""
    if type(value) is torch.Tensor and value.shape == () and not value.requires_grad:
        return value
    # To reshape one that is spread over processes may start a collective.
    return value if is_distributed(value) else value.detach().reshape(())


def has_non_finite(step: OpenStep, name: str) -> bool:
    """Return whether a tensor of a step, if it is observed there, holds nan or infinity."""
    row = step.rows.get(name)
    return row is not None and not step.is_finite(row)


class Scalars:
    """Observes numbers; those on an accelerator come to the host together."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._waiting: list[tuple[OpenStep, tuple[str, ...], str, torch.Tensor]] = []

    def add(self, step: OpenStep, name: str, collection: str, value: torch.Tensor) -> None:
        """Observe a tensor of one element, as ``add_all`` does."""
        self.add_all(step, (name,), collection, value.detach().reshape(1))

    def add_all(
        self, step: OpenStep, names: tuple[str, ...], collection: str, values: torch.Tensor
    ) -> None:
        """Observe numbers, shape ``[names]``; those on an accelerator when ``finish`` is called."""
        if on_host(values):
            self._observe([(step, names, collection, values)])
        else:
            self._waiting.append((step, names, collection, values))

    def finish(self, *__: object) -> None:
        waiting, self._waiting = self._waiting, []
        for device in dict.fromkeys(values.device for *_, values in waiting):
            self._observe([one for one in waiting if one[-1].device == device])

    def _observe(
        self, waiting: Sequence[tuple[OpenStep, tuple[str, ...], str, torch.Tensor]]
    ) -> None:
        numbers = iter(torch.cat([values.to(torch.float64) for *_, values in waiting]).tolist())
        for step, names, collection, _ in waiting:
            found = {name: next(numbers) for name in names}
            self._observer.numbers(step, found, collection)


SummaryPart = Callable[[torch.Tensor], torch.Tensor]


class Summaries:
    """Observes small tensors, each once in a step; nothing waits for an accelerator."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._taken: WeakKeyDictionary[OpenStep, set[str]] = WeakKeyDictionary()

    def wants(self, step: OpenStep, collection: str, name: str) -> bool:
        """Return whether a summary is saved at a step that has none of this name yet.

        Ask first ``step.wants(collection)``, which costs less.
        """
        if name in step or name in self._taken.get(step, ()):
            return False
        return step.saves(name, collection)

    def add(
        self,
        step: OpenStep,
        collection: str,
        name: str,
        value: torch.Tensor,
        part: SummaryPart = lambda value: value,
    ) -> None:
        """Observe a summary; one on an accelerator when the step ends.

        Args:
            collection: What it is.
            value: Some thousands of elements at most; floating, or integers below 2**53.
            part: Returns the summary, of it when it is on the host.
        """
        if on_host(value):
            self._observer.tensor(step, name, part(value), collection)
            return
        self._taken.setdefault(step, set()).add(name)
        note = partial(self._note, step, collection, name, part, value.shape, value.dtype)
        self._observer.defer(step, value.to(torch.float64).reshape(-1).view(torch.int64), note)

    def _note(
        self,
        step: OpenStep,
        collection: str,
        name: str,
        part: SummaryPart,
        shape: torch.Size,
        dtype: torch.dtype,
        packed: PackedBits,
    ) -> None:
        value = torch.from_numpy(packed.copy()).view(torch.float64).to(dtype).reshape(shape)
        self._observer.tensor(step, name, part(value), collection)
