"""Runs to open as trials, made without a training, and the answers that smdebug gave."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwatch.formats import RunTarget, Selection, open_writer
from stepwatch.formats.interface import RunWriter
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.smdebug.collections import SavedCollection, Stored
from stepwatch.model.steps import Mode
from stepwatch.store import Store, open_store
from stepwatch.testing import make_record
from tests.support import ROOT

GOLDEN = ROOT / "tests" / "golden"
GOLDEN_RUNS = sorted(path.name for path in (GOLDEN / "runs").iterdir())
_MOST_LISTED = 32


class Written:
    """A run that is being written by one or several workers of this process.

    Args:
        url: Where.
        workers: How many.
        format: ``native`` or ``smdebug``.
        stored: What is stored of every tensor; by default its raw value, in the smdebug format.
        collections: The collections that the run notes.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        workers: int = 1,
        format: str = "smdebug",
        stored: Stored | None = None,
        collections: Sequence[SavedCollection] = (),
    ) -> None:
        self.store: Store = open_store(url)
        manifest = Manifest("made", 1, num_workers=workers, run_format=format)
        stored_at = None if stored is None else (lambda *_: stored)
        self._writers: dict[str, RunWriter] = {}
        for rank in range(workers):
            place = RunTarget(self.store, f"worker_{rank}", manifest, is_first=rank == 0)
            self._writers[f"worker_{rank}"] = open_writer(place, Selection(stored_at, collections))
        self.url = self.store.url
        self._steps = 0

    def step(
        self,
        step: int,
        arrays: Mapping[str, npt.ArrayLike],
        *,
        mode: Mode = Mode.TRAIN,
        mode_step: int | None = None,
        workers: Sequence[int] = (0,),
    ) -> None:
        """Write one step by some workers; readers see it at once."""
        for rank in workers:
            worker = f"worker_{rank}"
            record = make_record(
                step, arrays, mode=mode, mode_step=mode_step, worker=worker, raw=True
            )
            self._writers[worker].write(record)
            self._writers[worker].flush()
        self._steps += 1

    def end(self) -> None:
        """End the run."""
        for writer in self._writers.values():
            writer.close(End("finished", 2, self._steps))


def finished(url: str | Path, steps: Mapping[int, Mapping[str, npt.ArrayLike]], **kw: Any) -> str:
    """Write a whole run of TRAIN steps by one worker and return its URL."""
    run = Written(url, **kw)
    for step, arrays in steps.items():
        run.step(step, arrays)
    run.end()
    return run.url


def golden_run(name: str) -> Path:
    """Return where a run lies that the real smdebug wrote."""
    return GOLDEN / "runs" / name


def golden_copy(name: str, place: Path) -> Path:
    """Return a copy of such a run, to change."""
    return Path(shutil.copytree(golden_run(name), place / name))


@lru_cache(maxsize=1)
def golden_answers() -> dict[str, Any]:
    """Return what smdebug's own trial answers for those runs, by run."""
    found: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text())
    return found


def described(value: npt.ArrayLike) -> dict[str, Any]:
    """Return a value as the answers describe values."""
    array = np.asarray(value)
    listed = array.size <= _MOST_LISTED and array.dtype.kind != "c"
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "value": array.tolist() if listed else None,
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16],
    }
