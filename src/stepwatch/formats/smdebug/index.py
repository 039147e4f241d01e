"""Index files: which tensors of a step a worker saved, and where in its event file.

The part that names the tensors is the same for step after step, so it is parsed once and shared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ...errors import ConfigError, CorruptRun
from ...hook_config import Reduction
from ...steps import Mode
from ...store import check_key
from .layout import EVENTS, parse_step_key
from .reductions import parse_reduction_name

# Between the two parts of an index file, as smdebug writes it.
_SEAM = b', "tensor_payload": '


@dataclass(frozen=True, eq=False, slots=True)
class Contents:
    """What is saved of the tensors of a step. Steps of which this is the same share one object.

    Args:
        places: First byte and length of the record of each value, stored reductions included, in
            the order of saving.
        shapes: Of tensors whose shape was saved by itself: it, and the name in the framework.
        tensors: The names of those with a value, stored reductions left out.
        reductions: The stored reductions of each tensor.
        size_bytes: How long the event file is at least.
    """

    places: Mapping[str, tuple[int, int]]
    shapes: Mapping[str, tuple[tuple[int, ...], str]]
    tensors: tuple[str, ...]
    reductions: Mapping[str, tuple[Reduction, ...]]
    size_bytes: int


@dataclass(frozen=True, eq=False, slots=True)
class SavedStep:
    """What one worker saved at one step.

    Args:
        step: The global step.
        mode: Its mode.
        mode_step: The step within the mode.
        event_key: Where the values lie; ``None`` if only shapes were saved.
        contents: What is saved.
    """

    step: int
    mode: Mode
    mode_step: int
    event_key: str | None
    contents: Contents

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the tensors with a value, in the order of saving."""
        return self.contents.tensors

    @property
    def shapes(self) -> Mapping[str, tuple[tuple[int, ...], str]]:
        """The shapes that were saved by themselves, and the names in the framework."""
        return self.contents.shapes

    @property
    def reductions(self) -> Mapping[str, tuple[Reduction, ...]]:
        """The stored reductions of each tensor."""
        return self.contents.reductions


def parse_index(key: str, data: bytes, step: int) -> SavedStep:
    """Return what an index file says.

    Args:
        key: Where it lies, for the error.
        data: Its bytes.
        step: The global step, which only its key tells.

    Raises:
        CorruptRun: It is no index file.
    """
    try:
        return _parse(data, step)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ConfigError) else repr(error)
        raise CorruptRun(key, 0, f"not an index file ({why})") from None


def _parse(data: bytes, step: int) -> SavedStep:
    seam = data.find(_SEAM)
    if seam < 0 or not data.startswith(b'{"meta": '):
        return _saved_step(json.loads(data), _contents(data), step)
    try:
        # Where both halves are objects, the whole is the object that has the fields of both.
        contents = _contents(b"{" + data[seam + 2 :])
        return _saved_step(json.loads(data[:seam] + b"}"), contents, step)
    except ValueError:
        return _saved_step(json.loads(data), _contents(data), step)


def _saved_step(
    values: Mapping[str, Mapping[str, object]], contents: Contents, step: int
) -> SavedStep:
    meta = values["meta"]
    mode, mode_step, event_key = meta["mode"], meta["mode_step"], meta.get("event_file_name")
    if type(mode_step) is not int or not -(1 << 62) < mode_step < 1 << 62:
        raise TypeError(f"mode_step is {mode_step!r}")
    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}")
    if event_key is None:
        if contents.places:
            raise ValueError("it names values and no event file")
    elif not isinstance(event_key, str) or not event_key.startswith(EVENTS):
        raise ValueError(f"event_file_name is {event_key!r}")
    else:
        check_key(event_key)
        parsed = parse_step_key(event_key)
        if parsed is None or parsed[0] != step:
            raise ValueError(f"event_file_name is {event_key!r}")
    return SavedStep(step, _MODES[str(mode)], mode_step, event_key, contents)


_MODES = {mode.value: mode for mode in Mode}


@lru_cache(maxsize=256)
def _contents(data: bytes) -> Contents:
    values = json.loads(data)
    if "tensor_payload" not in values and "shape_payload" not in values:
        raise KeyError("tensor_payload")
    # Of several records of one name the last counts.
    places = {
        _text(one["tensorname"]): (_count(one["start_idx"]), _count(one["length"]))
        for one in values.get("tensor_payload") or ()
    }
    shapes = {
        _text(one["tensorname"]): (
            tuple(map(_count, one["shape"])),
            _text(one.get("originalname", one["tensorname"])),
        )
        for one in values.get("shape_payload") or ()
    }
    tensors: list[str] = []
    reductions: dict[str, tuple[Reduction, ...]] = {}
    for name in places:
        parsed = parse_reduction_name(name)
        if parsed is None:
            tensors.append(name)
        else:
            reductions[parsed[1]] = (*reductions.get(parsed[1], ()), parsed[0])
    size_bytes = max((start + length for start, length in places.values()), default=0)
    return Contents(places, shapes, tuple(tensors), reductions, size_bytes)


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is no text")
    # Names go to files and tables, which cannot hold half of a pair of surrogates.
    value.encode()
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise TypeError(f"{value!r} is no count")
    return value
