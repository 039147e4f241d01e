"""The plan of a run that is configured in smdebug's words.

The training thread and the background thread ask it; each answer is one look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from ..hook_config import NEED_VALUES, SCALAR_COLLECTIONS, HookConfig, SavedCollection, Stored
from ..hook_config import RAW as STORE_RAW
from ..steps import Mode
from .plan import NOTHING, RAW, STATISTICS

_CURVES = SCALAR_COLLECTIONS - {"tensorflow_summaries"}


class DebuggerPlan:
    """Answers what is saved of a tensor; to which collections it belongs is worked out once.

    Args:
        config: What the hook was told.
        histograms: Whether histograms are made, for which full values are needed.
    """

    def __init__(self, config: HookConfig, *, histograms: bool = False) -> None:
        # The writers hold this very list, so that they see what is added to it.
        self.collections = list(config.collections)
        self._config = config
        self._saved = config.saved
        self._histograms = histograms
        self._members: dict[str, tuple[SavedCollection, ...]] = {}
        self._always: dict[str, Stored] = {}
        self._once: set[tuple[str, Mode, int]] = set()
        self._due: dict[tuple[Mode, int], frozenset[str]] = {}
        self._stored: dict[tuple[str, frozenset[str]], Stored | None] = {}

    def due(self, mode: Mode, mode_step: int) -> frozenset[str]:
        """Return the names of the collections that are saved at this step."""
        found = self._due.get((mode, mode_step))
        if found is None:
            found = frozenset(one.name for one in self._saved if one.is_due(mode, mode_step))
            if len(self._due) > 64:  # only the present step and its neighbours are asked for
                self._due.clear()
            self._due[mode, mode_step] = found
        return found

    def adopt(self, config: HookConfig) -> None:
        """Follow another configuration from here on."""
        self.collections[:] = config.collections
        self._config = config
        self._saved = config.saved
        self._members.clear()
        self._due.clear()
        self._stored.clear()

    def always(self, tensor: str, stored: Stored = STORE_RAW) -> None:
        """Store exactly this of a tensor whenever it is captured, whatever its collections say."""
        self._always[tensor] = stored

    def once(self, tensor: str, mode: Mode, mode_step: int) -> None:
        """Store a tensor at this step, whatever its collections say."""
        self._once.add((tensor, mode, mode_step))

    def join(self, tensor: str, collections: Sequence[str]) -> None:
        """Put a tensor into collections, new ones as well, and store it whenever it is captured.

        Its full value is stored if one of them stores full values, else all that they store.
        """
        for name in collections:
            known = {one.name: place for place, one in enumerate(self.collections)}
            place = known.setdefault(name, len(self.collections))
            if place == len(self.collections):
                new = SavedCollection(name, steps=self._config.steps, stored=self._config.stored)
                self.collections.append(new)
            one = self.collections[place]
            self.collections[place] = replace(one, tensors=one.tensors | {tensor})
        self._members.pop(tensor, None)
        wanted = [one.stored for one in self.collections if one.name in collections]
        stored = reduce(or_, wanted, Stored())
        if stored != Stored():
            self.always(tensor, STORE_RAW if stored.raw else stored)

    def stored(self, tensor: str, mode: Mode, mode_step: int) -> Stored | None:
        """Return what of a tensor is stored at a step, ``None`` for nothing."""
        if (tensor, mode, mode_step) in self._once:
            return STORE_RAW
        fixed = self._always.get(tensor)
        if fixed is not None:
            return fixed
        due = self.due(mode, mode_step)
        try:
            return self._stored[tensor, due]
        except KeyError:
            stored = self._stored[tensor, due] = self._work_out(tensor, due)
            return stored

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        """Return what must be captured: ``NOTHING``, ``STATISTICS`` or with it ``RAW``."""
        del kind
        stored = self.stored(tensor, mode, mode_step)
        if stored is None:
            return NOTHING
        needs_values = stored.raw or any(r.name in NEED_VALUES for r in stored.reductions)
        shown = self._histograms and self.histogram(tensor) is not None
        return STATISTICS | RAW if needs_values or shown else STATISTICS

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        """Return whether any tensor of a kind may be saved; collections here have no kinds."""
        del kind, mode_step
        return True

    def histogram(self, tensor: str) -> str | None:
        """Return the collection under which TensorBoard gets histograms of a tensor."""
        shown = [
            one.name
            for one in self.members(tensor)
            if one.histogram and one.name not in SCALAR_COLLECTIONS
        ]
        return shown[0] if shown else None

    def scalar(self, tensor: str) -> bool:
        """Return whether TensorBoard gets a curve of a tensor that has one element."""
        names = {one.name for one in self.members(tensor)}
        return tensor.startswith("scalar/") or bool(names & _CURVES)

    def members(self, tensor: str) -> tuple[SavedCollection, ...]:
        """Return the collections to which a tensor belongs, saved or not."""
        found = self._members.get(tensor)
        if found is None:
            found = tuple(one for one in self.collections if one.holds(tensor))
            self._members[tensor] = found
        return found

    def _work_out(self, tensor: str, due: frozenset[str]) -> Stored | None:
        wanted = [one.stored for one in self.members(tensor) if one.name in due]
        if not wanted:
            return None
        union = wanted[0]
        for one in wanted[1:]:
            union = union | one
        return None if union == Stored() else union
