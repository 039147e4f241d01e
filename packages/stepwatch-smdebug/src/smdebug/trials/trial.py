"""A view of a run, as smdebug's analyses and rules use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy.typing as npt

from stepwatch_smdebug.trials.followed_run import FollowedRun, StepAxis, as_mode
from stepwatch_smdebug.trials.sources import Span

from ..analysis.utils import numbered
from ..core.collection import Collection, CollectionKeys
from ..core.collection_manager import CollectionManager
from ..core.modes import ModeKeys, to_mode
from ..core.tensor import Tensor, TensorAt
from ..core.utils import flatten, match_inc
from ..exceptions import SMDebugTypeError, SMDebugValueError, TensorUnavailable


class Trial(FollowedRun):
    """A view of a run, of smdebug's format or Stepwatch's, while it is written or years later.

    Steps are counted as ``mode`` counts them; ``GLOBAL``, over all modes, is the default, and
    ``None`` means the same. A worker may be called ``node``.

    Args:
        name: What to call it.
        path: The folder or URL of the run.
        range_steps: See ``FollowedRun``.
        parallel: Has no effect.
        check: Has no effect.
        index_mode: Has no effect.
        cache: Keep values in memory once they were read.
    """

    def __init__(
        self,
        name: str,
        path: str,
        range_steps: Span | None = None,
        parallel: bool = True,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
    ) -> None:
        del parallel, check, index_mode
        super().__init__(path, range_steps)
        self.name = name
        self.cache = cache
        self._tensors: dict[str, Tensor] = {}
        self._collections = CollectionManager()
        # The state of the run of which they are.
        self._collections_of: StepAxis | None = None
        self._reported: set[str] = set()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(name={self.name!r}, path={self.path!r}, "
            f"{len(self.steps())} steps, {len(self.tensor_names())} tensors)"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return (self.name, self.path) == (other.name, other.path)

    def __hash__(self) -> int:
        return hash((self.name, self.path))

    def steps(
        self,
        mode: ModeKeys | str | None = ModeKeys.GLOBAL,
        show_incomplete_steps: bool = False,
        *,
        node: str | None = None,
    ) -> list[int]:
        """Return the complete steps, ascending.

        Args:
            mode: Only steps of this mode, as it counts them. The name of a tensor instead gives
                the global steps at which that was saved.
            show_incomplete_steps: Also steps that some worker has yet to write.
            node: Of a tensor, only steps at which this worker saved it.
        """
        if isinstance(mode, str):
            steps = self.tensor(mode).steps(show_incomplete_steps=show_incomplete_steps)
            return [step for step in steps if node in (None, *self.evidence.saved(mode, step))]
        self.maybe_refresh()
        return list(self._axis.steps(as_mode(mode), incomplete=show_incomplete_steps))

    def workers(self) -> list[str]:
        """Return who writes, sorted."""
        self.maybe_refresh()
        return sorted(self.worker_set)

    def nodes(self) -> list[str]:
        """Return ``workers()``."""
        return self.workers()

    @property
    def collection_manager(self) -> CollectionManager:
        """The collections. What was changed or added here stays."""
        self.maybe_refresh()
        if self._collections_of is not self._axis:
            axis = self._axis
            for name, found in self.evidence.collections().items():
                known = self._collections.collections.setdefault(name, found)
                known.tensor_names |= found.tensor_names
            self._collections.set_num_workers(self.num_workers)
            self._collections_of = axis  # only now that nothing was raised
        return self._collections

    def collections(self) -> dict[str, Collection]:
        """Return the collections by name."""
        return self.collection_manager.collections

    def collection(self, coll_name: str) -> Collection:
        """Return a collection; one that is not there is made, and holds nothing yet."""
        return self.collection_manager.get(coll_name)

    def tensor_names(
        self,
        step: int | bool | None = None,
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        regex: str | Sequence[str] | None = None,
        collection: str | Collection | None = None,
        *,
        show_prefixed_tensors: bool = False,
        tensors_regex: str | Sequence[str] | None = None,
        node: str | None = None,
    ) -> list[str]:
        """Return the names of tensors, sorted.

        Args:
            step: Only those of this step, as ``mode`` counts it.
            mode: Only those that have a step of this mode.
            regex: Only names in which this finds something, or one of several.
            collection: Only those of this collection, by its name or itself.
            show_prefixed_tensors: Has no effect.
            tensors_regex: The same as ``regex``.
            node: Only those that this worker saved.

        Raises:
            SMDebugValueError: Both ``regex`` and ``collection``.
            SMDebugTypeError: ``collection`` is something else.
        """
        del show_prefixed_tensors
        # A single positional used to be show_prefixed_tensors in the code, step in the guide.
        at = None if isinstance(step, bool) else step
        patterns = regex if regex is not None else tensors_regex
        if patterns is not None and collection is not None:
            raise SMDebugValueError("tensor_names takes regex or collection, not both")
        self.maybe_refresh()
        names = self._names(at, as_mode(mode), node)
        if collection is not None:
            names = self._in_collection(names, collection)
        elif patterns is not None:
            wanted = flatten([patterns])
            names = {name for name in names if match_inc(name, wanted)}
        if not names and (patterns is not None or collection is not None):
            self._report_empty(patterns or collection)
        return sorted(names)

    def tensors(
        self,
        step: int | None = None,
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        regex: str | Sequence[str] | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """Return ``tensor_names`` of the same, as it was once called."""
        return self.tensor_names(step, mode, regex, collection)

    def has_tensor(self, tname: str) -> bool:
        """Return whether a tensor was saved so far."""
        if tname not in self._tensors and tname not in self._known():
            self.maybe_refresh(tname)
            return tname in self._known()
        return True

    @overload
    def tensor(self, tname: str) -> Tensor: ...
    @overload
    def tensor(
        self, tname: str, step: int, node: str | None = None, mode: ModeKeys = ModeKeys.GLOBAL
    ) -> TensorAt: ...
    def tensor(
        self,
        tname: str,
        step: int | None = None,
        node: str | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
    ) -> Tensor | TensorAt:
        """Return a tensor.

        Args:
            tname: Its name.
            step: At this step only, as ``mode`` counts it: what is returned then shows shape,
                dtype and values as an array does.
            node: The worker; by default the first by name.
            mode: The mode that counts ``step``.

        Raises:
            TensorUnavailable: None of this name was saved so far.
            StepUnavailable: The step was not saved; also a ``NoMoreData``.
        """
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname)
        found = self._tensors.setdefault(tname, Tensor(tname, self, self.cache))
        return found if step is None else found.step(step, mode, node)

    def inputs(self, step: int, mode: ModeKeys | None = ModeKeys.GLOBAL) -> list[npt.NDArray[Any]]:
        """Return the inputs of the model at a step, in the order of their numbers."""
        return self._values(step, mode, collection=CollectionKeys.INPUTS)

    def labels(self, step: int, mode: ModeKeys | None = ModeKeys.GLOBAL) -> list[npt.NDArray[Any]]:
        """Return the labels at a step, in the order of their numbers."""
        return self._values(step, mode, regex="labels*")

    def predictions(
        self, step: int, mode: ModeKeys | None = ModeKeys.GLOBAL
    ) -> list[npt.NDArray[Any]]:
        """Return the predictions at a step, in the order of their numbers."""
        return self._values(step, mode, regex="predictions*")

    def _values(
        self,
        step: int,
        mode: ModeKeys | None,
        regex: str | None = None,
        collection: str | None = None,
    ) -> list[npt.NDArray[Any]]:
        names = self.tensor_names(step, mode, regex, collection)
        return [self.tensor(name).value(step, mode) for name in sorted(names, key=numbered)]

    def _report_empty(self, wanted: object) -> None:
        if str(wanted) not in self._reported:  # a rule may call this at every step
            self._reported.add(str(wanted))
            self.logger.warning("%s: no tensor of %s was saved so far", self.path, wanted)

    def _known(self) -> set[str]:
        return self.evidence.tensors(steps=self._span)

    def _names(self, step: int | None, mode: ModeKeys, node: str | None) -> set[str]:
        if step is None:
            wanted = None if mode is ModeKeys.GLOBAL else to_mode(mode)
            return self.evidence.tensors(mode=wanted, worker=node, steps=self._span)
        found = self.global_step(mode, step)
        if found is None or not self.holds_step(found):
            return set()
        saved = self.evidence.tensors_at(found)
        return set().union(*(names for who, names in saved.items() if node in (None, who)))

    def _in_collection(self, names: set[str], collection: str | Collection) -> set[str]:
        if isinstance(collection, str):
            collection = self.collection(collection)
        elif isinstance(collection, Collection):
            collection = self.collections().get(collection.name, collection)
        else:
            raise SMDebugTypeError(f"a collection or its name is needed, got {collection!r}")
        return {
            name
            for name in names
            if name in collection.tensor_names or match_inc(name, collection.include_regex)
        }
