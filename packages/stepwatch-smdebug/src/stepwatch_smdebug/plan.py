"""What a hook configuration of smdebug saves, and the plan of a run that it makes.

The training thread and the background thread use the plan; each query is one look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

from stepwatch.capture.plan import NOTHING, RAW, STATISTICS
from stepwatch.formats.smdebug.collections import (
    ALL_MODES,
    NEED_VALUES,
    SCALAR_COLLECTIONS,
    SavedCollection,
    SaveSteps,
    Stored,
    collections_to_json,
)
from stepwatch.formats.smdebug.collections import RAW as STORE_RAW
from stepwatch.model.steps import Mode

_SCALAR_KINDS = SCALAR_COLLECTIONS - {"tensorflow_summaries"}


@dataclass(frozen=True, slots=True)
class HookConfig:
    """What a Debugger hook is configured to save.

    Args:
        run: Where to write.
        collections: All that are known, saved or not.
        included: Names of those that are saved; ``all`` among them stands for every one.
        all_workers: Every process writes, not only the first.
        tensorboard: Where TensorBoard's files go; ``None`` for nowhere.
        dry_run: Observe everything and write nothing.
        steps: For every mode, when to save collections that do not say so themselves.
        stored: What to save of such collections.
        mirror: Where the run is copied to as it goes on; ``None`` for nowhere.
    """

    run: str
    collections: tuple[SavedCollection, ...]
    included: frozenset[str] = frozenset()
    all_workers: bool = False
    tensorboard: str | None = None
    dry_run: bool = False
    steps: Mapping[Mode, SaveSteps] = field(default_factory=lambda: ALL_MODES)
    stored: Stored = STORE_RAW
    mirror: str | None = None

    def with_patterns(self, patterns: Mapping[str, str]) -> HookConfig:
        """Return it with a further pattern in some of its collections, by their names."""
        collections = tuple(
            replace(one, patterns=(*one.patterns, patterns[one.name]))
            if one.name in patterns
            else one
            for one in self.collections
        )
        return replace(self, collections=collections)

    @property
    def saved(self) -> tuple[SavedCollection, ...]:
        """The collections that are saved."""
        every = "all" in self.included
        return tuple(one for one in self.collections if every or one.name in self.included)

    def plan(self, *, histograms: bool = False) -> DebuggerPlan:
        return DebuggerPlan(self, histograms=histograms)

    def stored_collections(self, num_workers: int) -> Mapping[str, object]:
        return collections_to_json(self.collections, {}, num_workers)


class DebuggerPlan:
    """Answers what is saved of a tensor; to which collections it belongs is computed once."""

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
            if len(self._due) > 64:  # only the present step and its neighbours are needed
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
        known = {one.name: one for one in self.collections}
        for name in collections:
            new = SavedCollection(name, steps=self._config.steps, stored=self._config.stored)
            one = known.get(name, new)
            known[name] = replace(one, tensors=one.tensors | {tensor})
        self.collections[:] = known.values()
        self._members.pop(tensor, None)
        stored = _union(one for one in self.collections if one.name in collections)
        if stored is not None:
            self.always(tensor, STORE_RAW if stored.raw else stored)

    def stored(self, tensor: str, mode: Mode, mode_step: int) -> Stored | None:
        if (tensor, mode, mode_step) in self._once:
            return STORE_RAW
        fixed = self._always.get(tensor)
        if fixed is not None:
            return fixed
        due = self.due(mode, mode_step)
        try:
            return self._stored[tensor, due]
        except KeyError:
            stored = _union(one for one in self.members(tensor) if one.name in due)
            self._stored[tensor, due] = stored
            return stored

    def level(self, tensor: str, kind: str, mode: Mode, mode_step: int) -> int:
        del kind
        stored = self.stored(tensor, mode, mode_step)
        if stored is None:
            return NOTHING
        needs_values = stored.raw or any(r.name in NEED_VALUES for r in stored.reductions)
        has_histogram = self._histograms and self.histogram(tensor) is not None
        return STATISTICS | RAW if needs_values or has_histogram else STATISTICS

    def wants(self, kind: str, mode_step: int | None = None) -> bool:
        del kind, mode_step
        return True

    def histogram(self, tensor: str) -> str | None:
        return next(
            (
                one.name
                for one in self.members(tensor)
                if one.histogram and one.name not in SCALAR_COLLECTIONS
            ),
            None,
        )

    def scalar(self, tensor: str) -> bool:
        names = {one.name for one in self.members(tensor)}
        return tensor.startswith("scalar/") or bool(names & _SCALAR_KINDS)

    def members(self, tensor: str) -> tuple[SavedCollection, ...]:
        """Return the collections to which a tensor belongs, saved or not."""
        found = self._members.get(tensor)
        if found is None:
            found = tuple(one for one in self.collections if one.holds(tensor))
            self._members[tensor] = found
        return found


def _union(collections: Iterable[SavedCollection]) -> Stored | None:
    """Return what any of some collections stores; ``None`` for nothing."""
    stored = reduce(or_, (one.stored for one in collections), Stored())
    return None if stored == Stored() else stored
