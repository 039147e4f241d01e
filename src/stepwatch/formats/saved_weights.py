"""What is kept in a run of the weights that its training saved: a digest of each tensor.

It lies under ``checkpoints/<content>.json``. The content is one digest of all the tensors, whatever
they are called and in whatever order they come, so that whoever holds the weights finds what is
known of them, wherever the file has come from. Weights that are saved twice are noted once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CorruptRun
from ..model.json_text import parse_json
from ..numerics.digest import digest
from ..store import Store, open_store, scheme_of
from ..store.local import local_path
from .manifest import RUN_KEY

CHECKPOINTS = "checkpoints/"
#: So many runs in one folder are looked at, the newest first.
MOST_RUNS = 500
#: The batches of so many first TRAIN steps are compared.
FIRST_BATCHES = 3


def content_of(digests: Iterable[int]) -> int:
    """Return one digest of some tensors; equal tensors, such as tied ones, count once.

    Args:
        digests: Of each tensor, from 0 to 2**64 - 1, in any order.

    Returns:
        From 0 to 2**64 - 1; 0 if there is none.
    """
    return digest(np.array(sorted(set(digests)), np.uint64))


def batch_digest(digests: Mapping[str, int]) -> int | None:
    """Return one digest of the batches of a step; ``None`` where none is known.

    Args:
        digests: Of tensors of the step, by name; those of its batches are taken.
    """
    found = [value for name, value in digests.items() if name.partition("/")[0].startswith("batch")]
    return content_of(found) if found else None


@dataclass(frozen=True, slots=True)
class SavedWeights:
    """The weights that a training saved.

    Args:
        content: See ``content_of``.
        tensors: The digest, the dtype and the shape of each, by name.
        num_steps: How many TRAIN steps had been taken.
        time_ns: When they were saved, nanoseconds since the Unix epoch.
        worker: Who saved them.
        file: Where to; ``""`` if that is not known.
        part: Where they lie in what was saved, such as ``model``; ``""`` for the whole of it.
        rates: The learning rates of the parameter groups of all optimizers.
        command: The script and its arguments.
        batches: Digests of the batches of the first TRAIN steps of the run, see ``batch_digest``.
        is_mid_epoch: Whether the loader that was read last had more batches to give; ``None`` if
            no loader is known.
    """

    content: int
    tensors: Mapping[str, tuple[int, str, tuple[int, ...]]]
    num_steps: int
    time_ns: int
    worker: str = ""
    file: str = ""
    part: str = ""
    rates: tuple[float, ...] = ()
    command: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    is_mid_epoch: bool | None = None
    #: The run that it was found in, not stored.
    run: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """Under which key it lies in its run."""
        return _key(self.content)

    def to_json(self) -> bytes:
        """Return it as it is stored."""
        document = asdict(self)
        del document["run"]
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, key: str, data: bytes, run: str = "") -> SavedWeights:
        """Return what ``to_json`` wrote.

        Raises:
            CorruptRun: Bytes that it did not write.
        """
        try:
            found: dict[str, Any] = dict(parse_json(data))
            known = {one.name for one in fields(cls)} - {"run"}
            found = {name: value for name, value in found.items() if name in known}
            found["tensors"] = {
                str(name): (int(number), str(dtype), tuple(map(int, shape)))
                for name, (number, dtype, shape) in dict(found["tensors"]).items()
            }
            for name in ("rates", "command", "batches"):
                found[name] = tuple(found.get(name, ()))
            return cls(**found, run=run)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptRun(key, 0, f"no note of saved weights ({error!r})") from None


def _key(content: int) -> str:
    return f"{CHECKPOINTS}{content:016x}.json"


def saved_in(store: Store, content: int) -> SavedWeights | None:
    """Return what a run knows of weights that it saved; ``None`` if it did not save these.

    Raises:
        CorruptRun: What is stored there is damaged.
    """
    try:
        return SavedWeights.from_json(_key(content), store.get(_key(content)), store.url)
    except FileNotFoundError:
        return None


def all_saved(store: Store) -> Iterator[SavedWeights]:
    """Yield all that a run knows of weights that it saved, in the order of time."""
    keys = [key for key in store.list(CHECKPOINTS) if key.endswith(".json")]
    found = [SavedWeights.from_json(key, store.get(key), store.url) for key in keys]
    yield from sorted(found, key=lambda one: one.time_ns)


def saved_nearby(store: Store, content: int) -> SavedWeights | None:
    """Return who saved these weights: this run, or one that lies in the same folder.

    Of runs elsewhere than on this machine only the run itself is asked.

    Raises:
        CorruptRun: What is stored there is damaged.
    """
    found = saved_in(store, content)
    url = store.url
    if found is not None or scheme_of(url) != "file":
        return found
    for run in _newest(Path(local_path(url)).parent):
        if os.path.isfile(os.path.join(run, _key(content))):
            return saved_in(open_store(run), content)
    return None


def _newest(folder: Path) -> list[str]:
    """Return the folders in a folder that hold runs, the newest first."""
    try:
        with os.scandir(folder) as entries:
            found = [(one.stat().st_mtime_ns, one.path) for one in entries if one.is_dir()]
    except OSError:
        return []
    newest = [path for _, path in sorted(found, reverse=True)[:MOST_RUNS]]
    return [path for path in newest if os.path.isfile(os.path.join(path, RUN_KEY))]
