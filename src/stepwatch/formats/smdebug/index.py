"""Index files: which steps there are, which tensors a worker saved, and where in its event file.

The part that names the tensors is the same for step after step, so it is parsed once and shared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError, CorruptRun
from ...model.json_text import parse_json
from ...model.steps import Mode
from ...runtime.parallel import map_parallel
from ...store import Store, check_key
from ..interface import StepRange, join_ranges
from .collections import Reduction
from .layout import EVENTS, INDEX, index_prefix, parse_step_key
from .reductions import parse_reduction_name

# Between the two parts of an index file, as smdebug writes it.
_SEAM = b', "tensor_payload": '


@dataclass(frozen=True, eq=False, slots=True)
class Contents:
    """What is saved of the tensors of a step. Steps of which this is the same share one object.

    Args:
        byte_ranges: First byte and length of the record of each value, stored reductions included,
            in the order of saving.
        shapes: Of tensors whose shape was saved by itself: it, and the name in the framework.
        tensors: The names of those with a value, stored reductions left out.
        reductions: The stored reductions of each tensor.
        size_bytes: How long the event file is at least.
    """

    byte_ranges: Mapping[str, tuple[int, int]]
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


def parse_index(key: str, data: bytes, step: int) -> SavedStep:
    """Return what an index file says of a global step, which only its key tells.

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
        return _saved_step(parse_json(data), _contents(data), step)
    try:
        # Where both halves are objects, the whole is the object that has the fields of both.
        contents = _contents(b"{" + data[seam + 2 :])
        return _saved_step(parse_json(data[:seam] + b"}"), contents, step)
    except ValueError:
        return _saved_step(parse_json(data), _contents(data), step)


def _saved_step(
    values: Mapping[str, Mapping[str, object]], contents: Contents, step: int
) -> SavedStep:
    meta = values["meta"]
    mode, mode_step = meta["mode"], meta["mode_step"]
    event_key = meta.get("event_file_name") or None  # some writers name none by an empty text
    if type(mode_step) is not int or not -(1 << 62) < mode_step < 1 << 62:
        raise TypeError(f"mode_step is {mode_step!r}")
    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}")
    if event_key is None:
        if contents.byte_ranges and "event_file_name" not in meta:
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
    values = parse_json(data)
    if "tensor_payload" not in values and "shape_payload" not in values:
        raise KeyError("tensor_payload")
    # Of several records of one name the last counts.
    byte_ranges = {
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
    for name in byte_ranges:
        parsed = parse_reduction_name(name)
        if parsed is None:
            tensors.append(name)
        else:
            reductions[parsed[1]] = (*reductions.get(parsed[1], ()), parsed[0])
    size_bytes = max((start + length for start, length in byte_ranges.values()), default=0)
    return Contents(byte_ranges, shapes, tuple(tensors), reductions, size_bytes)


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


# A thread takes so many small files at once.
_FILES_A_CALL = 64
# From here on keys no longer ascend with steps.
_WIDE_STEP = 10**12

Steps = npt.NDArray[np.int64]


class Catalog:
    """The steps of a run, of all workers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known_keys: set[str] = set()
        self._steps: dict[str, dict[int, SavedStep]] = {}
        self._columns: dict[str, Columns] = {}
        self._ranges: dict[str, list[StepRange]] = {}

    @property
    def workers(self) -> list[str]:
        """Who saved a step."""
        return list(self._steps)

    def refresh(self, num_workers: int, *, everything: bool) -> list[SavedStep]:
        """Read new index files and return what they say.

        Files come in the order of steps from each worker, but one worker may be behind the
        others. So the listing begins with the first step that not all of them showed.

        Args:
            num_workers: How many workers show every step.
            everything: List all, as where files may have come in any order.

        Raises:
            CorruptRun: An index file is damaged.
        """
        after = "" if everything else self._first_key(num_workers)
        keys = [key for key in self._store.list(INDEX, after) if key not in self._known_keys]
        found = [(key, *parsed) for key in keys if (parsed := parse_step_key(key))]
        parts = [
            found[start : start + _FILES_A_CALL] for start in range(0, len(found), _FILES_A_CALL)
        ]
        new: dict[str, list[SavedStep]] = {}
        for part, steps in zip(
            parts, map_parallel(self._read, parts, threads=_readers(self._store)), strict=True
        ):
            for (key, _, worker), saved in zip(part, steps, strict=True):
                if saved is not None:
                    self._known_keys.add(key)
                    new.setdefault(worker, []).append(saved)
        for worker, steps_of_worker in new.items():
            self._add(worker, steps_of_worker)
        return [saved for steps_of_worker in new.values() for saved in steps_of_worker]

    def again(self, worker: str, step: int) -> SavedStep | None:
        """Read an index file again and return what it says by now, ``None`` if it is gone."""
        for key in self._store.list(index_prefix(step)):
            if parse_step_key(key) == (step, worker):
                (saved,) = self._read([(key, step, worker)])
                if saved is not None:
                    self._steps[worker][step] = saved
                    self._columns.pop(worker, None)
                    self._ranges.pop(worker, None)
                    return saved
        return None

    def get(self, worker: str, step: int) -> SavedStep | None:
        """Return what a worker saved at a step; ``None`` for nothing."""
        return self._steps.get(worker, {}).get(step)

    def columns(self, worker: str) -> Columns:
        """Return the steps of a worker, ascending."""
        if worker not in self._columns:
            steps = self._steps.get(worker, {})
            self._columns[worker] = Columns([steps[number] for number in sorted(steps)])
        return self._columns[worker]

    def ranges(self, worker: str) -> list[StepRange]:
        """Return the steps of a worker, as few ranges."""
        if worker not in self._ranges:
            self._ranges[worker] = join_ranges(map(_range, self.columns(worker).saved))
        return self._ranges[worker]

    def last_complete(self, ended: Collection[str], num_workers: int, window: int) -> int:
        """Return the last step that no worker will add to; -1 if there is none.

        That is one that all workers show, but for those that ended; what is missing before it
        never comes. Where more than ``window`` steps wait for a worker, the oldest no longer do.
        """
        running = set(self._steps) - set(ended)
        steps = [self.columns(worker).steps for worker in self._steps]
        if not steps:
            return -1
        known, num_workers_with = np.unique(np.concatenate(steps), return_counts=True)
        if len(ended) >= num_workers and not running:
            return int(known[-1])
        for worker in set(ended):
            present = self.columns(worker).steps if worker in self._steps else known[:0]
            num_workers_with += ~np.isin(known, present)
        complete = np.flatnonzero(num_workers_with >= num_workers)
        last = int(complete[-1]) if len(complete) else -1
        while len(known) - (last + 1) > window:
            last += max(window // 2, 1)
        return int(known[last]) if last >= 0 else -1

    def _first_key(self, num_workers: int) -> str:
        """Return what the keys of all steps that some worker may not have shown sort after."""
        steps = [self.columns(worker).steps for worker in self._steps]
        if not steps:
            return ""
        known, counts = np.unique(np.concatenate(steps), return_counts=True)
        if known[-1] >= _WIDE_STEP:
            return ""
        partial = np.flatnonzero(counts < num_workers)
        return index_prefix(int(known[partial[0]] if len(partial) else known[-1]))

    def _read(self, found: Sequence[tuple[str, int, str]]) -> list[SavedStep | None]:
        return [self._read_one(key, step) for key, step, _ in found]

    def _read_one(self, key: str, step: int) -> SavedStep | None:
        try:
            return parse_index(key, self._store.get(key), step)
        except FileNotFoundError:
            return None  # replaced this very moment; it is there the next time

    def _add(self, worker: str, new: Sequence[SavedStep]) -> None:
        steps = self._steps.setdefault(worker, {})
        ranges = self._ranges.pop(worker, [])
        follow = new[0].step > max((range_.last for range_ in ranges), default=-1)
        if ranges and follow and all(a.step < b.step for a, b in pairwise(new)):
            self._ranges[worker] = join_ranges([*ranges, *map(_range, new)])
        steps.update((saved.step, saved) for saved in new)
        self._columns.pop(worker, None)


def _readers(store: Store) -> int:
    """Return how many threads read at once: one where nothing is waited for."""
    return 1 if store.url.startswith(("file:", "memory:")) else 8


class Columns:
    """The steps of one worker, ascending, as columns.

    Args:
        saved: What was saved at each.
    """

    def __init__(self, saved: list[SavedStep]) -> None:
        self.saved = saved
        self.steps: Steps = np.array([one.step for one in saved], np.int64)
        self.mode_steps: Steps = np.array([one.mode_step for one in saved], np.int64)
        self.modes = [one.mode for one in saved]
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for index, one in enumerate(saved):
            groups[id(one.contents)].append(index)
        #: The positions of the steps that hold the same.
        self.groups = [np.array(indices) for indices in groups.values()]

    def indices(self, step: tuple[Mode, int] | None) -> Steps:
        """Return the positions of a step, as its mode counts it (GLOBAL counts all), or of all."""
        if step is None:
            return np.arange(len(self.saved))
        mode, number = step
        if mode is Mode.GLOBAL:
            return np.flatnonzero(self.steps == number)
        same = np.flatnonzero(self.mode_steps == number).tolist()
        return np.array([index for index in same if self.modes[index] is mode], np.int64)


def _range(saved: SavedStep) -> StepRange:
    return StepRange(saved.mode, saved.step, 1, 0, saved.mode_step, 0)
