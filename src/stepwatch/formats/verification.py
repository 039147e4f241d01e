"""Reads all of a run and says what of it is damaged.

What has a checksum is compared with it. Of the rest it is known only whether it can be read and
fits what is said of it elsewhere: that is all there is of smdebug's files, and of what the first
releases wrote. Checkpoints and the rings of the black box are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from ..errors import CorruptRun, RunNotFound
from ..model.json_text import parse_json
from ..numerics.columns import numbers, valid
from ..numerics.digest import digest
from ..store import Store
from .as_stored import AS_STORED
from .manifest import RUN_KEY, End, Manifest
from .native.blobs import RunBlobFile
from .native.observations import text_codes
from .native.parts import (
    OBSERVATIONS,
    TENSORS,
    Part,
    Span,
    covers,
    find_gaps,
    parse_span,
    widest_spans,
)
from .profile.parts import list_parts, read_part
from .profile.tables import SPANS, SYSTEM
from .smdebug.collections import collections_from_json
from .smdebug.event_files import EventFiles
from .smdebug.index import parse_index
from .smdebug.layout import COLLECTIONS, INDEX, parse_collections_key, parse_step_key


@dataclass(frozen=True, slots=True)
class Damage:
    """Something of a run that is not what was written, or is not there.

    Args:
        key: Where in the store.
        reason: What is wrong with it.
        offset: First byte that is wrong, or of what is; ``None`` where that says nothing.
        step: The global step that it is of; ``None`` for what is of several or of none.
        tensor: The tensor that it is of; empty for several or none.
    """

    key: str
    reason: str
    offset: int | None = None
    step: int | None = None
    tensor: str = ""


@dataclass(slots=True)
class Verification:
    """What was read of a run, and what of it is damaged.

    Args:
        num_files: How many files were read.
        num_values: How many full values.
        num_unchecked: How many of these have no checksum and no digest.
        unchecked_files: Files of observations without checksums of all they hold.
        damages: What is damaged, in the order in which it was read.
    """

    num_files: int = 0
    num_values: int = 0
    num_unchecked: int = 0
    unchecked_files: list[str] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)

    def note(self, error: CorruptRun, step: int | None = None, tensor: str = "") -> None:
        """Note what an error says."""
        self.damages.append(Damage(error.key, error.reason, error.offset, step, tensor))


def verify(store: Store) -> Verification:
    """Read all of a run.

    Raises:
        RunNotFound: There is none.
    """
    keys = store.list()
    if not any(
        key == RUN_KEY or key.startswith((OBSERVATIONS, INDEX, COLLECTIONS)) for key in keys
    ):
        raise RunNotFound(f"no run at {store.url}; to list runs: stepwatch runs FOLDER")
    found = Verification()
    for key in keys:
        if key.endswith((".json", ".jsonl")) and not key.startswith((INDEX, COLLECTIONS)):
            _verify_note(store, key, found)
    _verify_rows(store, found)
    _verify_profile(store, found)
    _verify_as_stored(store, found)
    _verify_steps_of_smdebug(store, found)
    return found


def _verify_note(store: Store, key: str, found: Verification) -> None:
    try:
        data = store.get(key)
    except FileNotFoundError:
        return  # written anew this very moment
    found.num_files += 1
    try:
        if key == RUN_KEY:
            Manifest.from_json(key, data)
        elif key.startswith("end/"):
            End.from_json(key, data)
        else:
            for text in data.splitlines() if key.endswith(".jsonl") else [data]:
                parse_json(text)
    except CorruptRun as error:
        found.note(error)
    except ValueError as error:
        found.damages.append(Damage(key, f"not JSON ({error})"))


# The native format


#: The full values that rows name, by worker and name of the file: step and tensor, and the digest
#: if there is one.
_Named = dict[tuple[str, str], dict[tuple[int, str], int | None]]


def _verify_rows(store: Store, found: Verification) -> None:
    """Read all parts, then the full values that they name, and those that none names."""
    before = store.list(OBSERVATIONS)
    named: _Named = defaultdict(dict)
    parts, damaged = [], []
    for span in widest_spans(map(parse_span, before)):
        try:
            part = Part(store, span)
            table = part.read()
        except FileNotFoundError:
            continue  # merged into another
        except CorruptRun as error:
            found.note(error)
            damaged.append(span)
            continue
        finally:
            found.num_files += 1
        if not part.is_checked:
            found.unchecked_files.append(part.key)
        parts.append(part)
        for blob, values in _values_named(table):
            named[span.worker, blob].update(values)
    holes = find_gaps(parts) if store.list(OBSERVATIONS) == before else []
    for hole in holes:
        if not any(covers(hole, span) for span in damaged):
            reason = f"steps {hole.first} to {hole.last} are lost: no part holds them"
            found.damages.append(Damage(f"{OBSERVATIONS}{hole.worker}/", reason))
    _verify_values(store, named, found)


def _values_named(table: pa.Table) -> Iterator[tuple[str, dict[tuple[int, str], int | None]]]:
    """Yield each file that rows name, and which values they say it holds."""
    blobs, tensors = text_codes(table.column("blob")), text_codes(table.column("tensor"))
    steps = numbers(table.column("step"))
    has_digest = valid(table.column("digest"))
    digests = numbers(table.column("digest"), null=0)
    for code, blob in enumerate(blobs.values):
        rows = np.flatnonzero(blobs.codes == code).tolist()
        yield (
            blob,
            {
                (int(steps[row]), tensors.values[tensors.codes[row]]): (
                    int(digests[row]) if has_digest[row] else None
                )
                for row in rows
            },
        )


def _verify_values(store: Store, named: _Named, found: Verification) -> None:
    there = {(span.worker, key.rpartition("/")[2]): key for key, span in _blob_keys(store)}
    for which in sorted(there.keys() | named.keys()):
        key = there.get(which, f"{TENSORS}{which[0]}/{which[1]}")
        wanted = named.get(which, {})
        try:
            file = RunBlobFile(key, partial(store.get, key))
            if file.size != store.size(key):
                reason = f"it has {store.size(key)} bytes; its header says {file.size}"
                found.damages.append(Damage(key, reason, min(file.size, store.size(key))))
        except FileNotFoundError:
            if wanted:
                found.damages.append(Damage(key, f"it is gone, with {_count(wanted)}"))
            continue
        except CorruptRun as error:
            reason = f"{error.reason}; it held {_count(wanted)}" if wanted else error.reason
            found.damages.append(Damage(key, reason, error.offset))
            continue
        finally:
            found.num_files += 1
        for name in file.names:
            _verify_value(file, name, wanted, found)
        for step, tensor in wanted.keys() - set(map(_step_and_tensor, file.names)):
            reason = "it does not hold the value that a row says is there"
            found.damages.append(Damage(key, reason, None, step, tensor))


def _verify_as_stored(store: Store, found: Verification) -> None:
    """Read what a conversion kept of what smdebug stored."""
    for key in store.list(AS_STORED):
        if not key.endswith(".safetensors"):
            continue
        found.num_files += 1
        try:
            file = RunBlobFile(key, partial(store.get, key))
            for name in file.names:
                file.get(name)
        except CorruptRun as error:
            found.note(error)


def _blob_keys(store: Store) -> Iterator[tuple[str, Span]]:
    for key in store.list(TENSORS):
        span = parse_span(key)
        if span is not None:
            yield key, span


def _count(values: dict[tuple[int, str], int | None]) -> str:
    steps = sorted({step for step, _ in values})
    return f"{len(values)} values of steps {steps[0]} to {steps[-1]}"


def _step_and_tensor(name: str) -> tuple[int, str]:
    step, _, tensor = name.partition("/")
    return int(step), tensor


def _verify_value(
    file: RunBlobFile,
    name: str,
    wanted: dict[tuple[int, str], int | None],
    found: Verification,
) -> None:
    step, tensor = _step_and_tensor(name)
    found.num_values += 1
    try:
        value = file.get(name)
    except CorruptRun as error:
        found.note(error, step, tensor)
        return
    if file.is_checked:
        return
    noted = wanted.get((step, tensor))
    if noted is None or value.dtype.kind == "U" or value.dtype.itemsize > 8:
        found.num_unchecked += 1
    elif digest(value) != noted:
        reason = "the value is not the one that was observed: its digest differs"
        found.damages.append(Damage(file.key, reason, None, step, tensor))


def _verify_profile(store: Store, found: Verification) -> None:
    for table in (SPANS, SYSTEM):
        for part in list_parts(store, table):
            try:
                read_part(store, table, part)
            except FileNotFoundError:
                continue  # merged into another
            except CorruptRun as error:
                found.note(error)
            found.num_files += 1


# smdebug's format


def _verify_steps_of_smdebug(store: Store, found: Verification) -> None:
    for key in filter(parse_collections_key, store.list(COLLECTIONS)):
        found.num_files += 1
        try:
            collections_from_json(key, store.get(key))
        except CorruptRun as error:
            found.note(error)
    files = EventFiles(store)
    for key in store.list(INDEX):
        parsed = parse_step_key(key)
        if parsed is not None:
            _verify_step_of_smdebug(store, key, parsed[0], files, found)


def _verify_step_of_smdebug(
    store: Store, key: str, step: int, files: EventFiles, found: Verification
) -> None:
    found.num_files += 1
    try:
        saved = parse_index(key, store.get(key), step)
    except CorruptRun as error:
        found.note(error, step)
        return
    event_key = str(saved.event_key)
    for name in saved.contents.byte_ranges:
        found.num_values += 1
        try:
            files.value(saved, name)
        except FileNotFoundError:
            held = len(saved.contents.byte_ranges)
            found.damages.append(Damage(event_key, f"it is gone, with {held} values", None, step))
            return
        except CorruptRun as error:
            found.note(error, step, name)
        else:
            found.num_unchecked += 1
    found.num_files += saved.event_key is not None
