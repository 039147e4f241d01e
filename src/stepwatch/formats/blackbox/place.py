"""Where rings and dumps of a run lie.

The ring of a run in a folder lies in that folder. That of a run elsewhere lies in the system's
folder for temporary files, because only a local file can be mapped; a note in the run says where.
"""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ...store import Store, scheme_of
from .ring import Ring, Whole, whole_in, whole_in_ring

FOLDER = "blackbox/"
_RING, _DUMPS, _NOTE = ".ring", ".frames", ".json"


def dumps_prefix(worker: str) -> str:
    """Return what the keys of a worker's dumps begin with."""
    return f"{FOLDER}{worker}/"


def dump_key(worker: str, step: int, reason: str) -> str:
    """Return the key of a dump.

    Example:
        >>> dump_key("worker_0", 17, "non-finite loss")
        'blackbox/worker_0/17-non-finite-loss.frames'
    """
    words = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in reason)
    return f"{dumps_prefix(worker)}{step}-{words}{_DUMPS}"


def open_ring(store: Store, worker: str, size_bytes: int) -> Ring:
    """Make the ring of a worker.

    Raises:
        OSError: There is no space or no permission for it.
    """
    if scheme_of(store.url) == "file":
        folder = Path(unquote(urlsplit(store.url).path))
        return Ring(folder / f"{FOLDER}{worker}{_RING}", size_bytes)
    path = Path(tempfile.mkdtemp(prefix="stepwatch-")) / f"{worker}{_RING}"
    note = {"host": socket.gethostname(), "path": str(path)}
    store.put(f"{FOLDER}{worker}{_NOTE}", json.dumps(note).encode())
    return Ring(path, size_bytes)


def remove_ring(store: Store, worker: str, ring: Ring) -> None:
    """Remove a ring, and what said where it was."""
    ring.path.unlink(missing_ok=True)
    if scheme_of(store.url) != "file":
        store.delete(f"{FOLDER}{worker}{_NOTE}")
    with suppress(OSError):  # dumps lie in it, or other rings
        ring.path.parent.rmdir()


def is_ring(key: str) -> bool:
    """Return whether a key is that of a ring or of the note where it is; others see but dumps."""
    return key.startswith(FOLDER) and not key.endswith(_DUMPS)


def dumps(store: Store) -> list[str]:
    """Return the keys of the dumps of a run."""
    return [key for key in store.list(FOLDER) if key.endswith(_DUMPS)]


def rings_and_dumps(store: Store) -> Iterator[tuple[str, list[Whole]]]:
    """Yield the frames of each dump and each ring of a run, with the name of the worker."""
    for key in store.list(FOLDER):
        worker = key[len(FOLDER) :].partition("/")[0].partition(".")[0]
        with suppress(FileNotFoundError):  # the run has just ended, and needs it no more
            if key.endswith(_DUMPS):
                yield worker, list(whole_in(store.get(key)))
            elif key.endswith(_RING):
                yield worker, whole_in_ring(store.get(key))
            elif key.endswith(_NOTE):
                yield worker, whole_in_ring(_ring_elsewhere(store.get(key)))


def _ring_elsewhere(note: bytes) -> bytes:
    """Return the ring that a note tells of; nothing if it is not on this machine."""
    try:
        told = json.loads(note)
        here = told["host"] == socket.gethostname()
        return Path(told["path"]).read_bytes() if here else b""
    except (OSError, ValueError, KeyError, TypeError):
        return b""
