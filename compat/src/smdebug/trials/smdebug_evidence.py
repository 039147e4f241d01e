"""What is saved of the tensors of a run in smdebug's own format.

Most steps hold the same tensors, and then share one description of it. So the steps of a tensor
are found by description, and nothing is kept for every tensor of every step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.utils import step_in_range
from smdebug.trials.evidence import EVERYTHING, Saved, Span
from stepwatch.formats.smdebug.index import Contents, SavedStep
from stepwatch.formats.smdebug.layout import COLLECTIONS, parse_collections_key
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.formats.step_range import StepRange
from stepwatch.hook_config import Reduction
from stepwatch.steps import Mode
from stepwatch.store import Store


class SmdebugEvidence:
    """What is saved of the tensors of a run in smdebug's own format.

    Args:
        store: Where the run lies.
        reader: Of the run.
    """

    def __init__(self, store: Store, reader: SmdebugReader) -> None:
        self._store = store
        self._reader = reader
        self._steps: dict[int, dict[str, SavedStep]] = {}
        self._with: dict[Contents, list[tuple[str, SavedStep]]] = {}
        self._tensors: dict[str, list[Contents]] = {}
        self._added: dict[str, list[StepRange]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Add the steps that are new."""
        for worker in self._reader.workers:
            ranges = self._reader.step_ranges(worker)
            if ranges == self._added.get(worker):
                continue
            self._added[worker] = list(ranges)
            for range_ in ranges:
                steps = range(range_.first, range_.last + 1, range_.stride or 1)
                for step in steps:
                    if worker not in self._steps.get(step, ()):
                        self._add(worker, step)

    def collections(self) -> dict[str, Collection]:
        """Return the collections of all workers, each with the tensors that any of them saw."""
        found: dict[str, Collection] = {}
        for key in self._store.list(COLLECTIONS):
            if parse_collections_key(key) is None:
                continue
            loaded = CollectionManager.load_from_string(self._store.get(key).decode())
            for name, one in ({} if loaded is None else loaded.collections).items():
                first = found.setdefault(name, one)
                first.tensor_names |= one.tensor_names
        return found

    def tensors(
        self, *, mode: Mode | None = None, worker: str | None = None, steps: Span = EVERYTHING
    ) -> set[str]:
        """Return the names of tensors: of a mode, of a worker, of some steps; all by default."""

        def counts(who: str, saved: SavedStep) -> bool:
            right = mode in (None, saved.mode) and worker in (None, who)
            return right and step_in_range(steps, saved.step)

        found: set[str] = set()
        for contents, saved in self._with.items():
            if any(counts(*one) for one in saved):
                found |= _names(contents)
        return found

    def tensors_at(self, step: int) -> dict[str, set[str]]:
        """Return the names of the tensors of a global step, by worker."""
        saved = self._steps.get(step, {})
        return {worker: _names(one.contents) for worker, one in saved.items()}

    def original_name(self, tensor: str) -> str | None:
        """Return what the framework calls a tensor; ``None`` if that was not saved."""
        described = (one.shapes.get(tensor) for one in self._tensors.get(tensor, ()))
        return next((shape[1] for shape in described if shape), None)

    def steps_of(self, tensor: str) -> dict[int, tuple[Mode, int]]:
        """Return the global steps of a tensor, each with its mode and mode step."""
        return {
            saved.step: (saved.mode, saved.mode_step)
            for contents in self._tensors.get(tensor, ())
            for _, saved in self._with[contents]
        }

    def saved(self, tensor: str, step: int) -> dict[str, Saved]:
        """Return what of a tensor was saved at a global step, by worker."""
        found: dict[str, Saved] = {}
        for worker, one in self._steps.get(step, {}).items():
            if tensor in one.contents.places or tensor in one.shapes or tensor in one.reductions:
                shape, _ = one.shapes.get(tensor, (None, ""))
                found[worker] = Saved(
                    one.mode,
                    one.mode_step,
                    tensor in one.contents.places,
                    shape,
                    one.reductions.get(tensor, ()),
                )
        return found

    def value(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value that was saved."""
        return self._reader.value(worker, step, tensor)

    def reduction(
        self, worker: str, step: int, tensor: str, reduction: Reduction
    ) -> npt.NDArray[np.generic]:
        """Return a reduction that was saved.

        Raises:
            LookupError: It was not.
        """
        if reduction not in self._steps[step][worker].reductions.get(tensor, ()):
            raise LookupError(f"{reduction.stored} of {tensor} was not saved")
        return self._reader.reduction(worker, step, tensor, reduction)

    def _add(self, worker: str, step: int) -> None:
        saved = self._reader.saved(worker, step)
        if saved is None:
            return
        self._steps.setdefault(step, {})[worker] = saved
        contents = saved.contents
        if contents not in self._with:
            for tensor in _names(contents):
                self._tensors.setdefault(tensor, []).append(contents)
        self._with.setdefault(contents, []).append((worker, saved))


def _names(contents: Contents) -> set[str]:
    return {*contents.tensors, *contents.shapes, *contents.reductions}
