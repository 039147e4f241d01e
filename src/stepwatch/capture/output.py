"""What a recorder writes, beside what it captures: in which format, and for whom."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypedDict

from ..errors import ConfigError
from ..formats import RunTarget, Selection, attach_writer, open_writer
from ..formats.interface import RunWriter
from ..formats.smdebug.collections import SavedCollection, Stored
from ..formats.tensorboard import TensorBoardWriter
from ..model.collection import Collection
from ..model.steps import Mode
from ..store import Store
from .black_box import BlackBox, Offer, open_black_box
from .mirror import Mirror, NoMirror
from .plan import Plans

_log = logging.getLogger("stepwatch")


class ConfiguredPlan(Plans, Protocol):
    """The plan that a hook configuration makes."""

    @property
    def collections(self) -> Sequence[SavedCollection]:
        """All that are known, saved or not."""

    def stored(self, tensor: str, mode: Mode, mode_step: int) -> Stored | None:
        """Return what of a tensor is stored at a step, ``None`` for nothing."""

    def histogram(self, tensor: str) -> str | None:
        """Return the collection under which TensorBoard gets histograms of a tensor."""

    def scalar(self, tensor: str) -> bool:
        """Return whether TensorBoard gets a curve of a tensor that has one element."""


class SaveConfig(Protocol):
    """A hook configuration: it says what is saved instead of a policy."""

    @property
    def all_workers(self) -> bool:
        """Whether every process writes, not only the first."""

    @property
    def dry_run(self) -> bool:
        """Whether everything is observed and nothing written."""

    @property
    def mirror(self) -> str | None:
        """Where the run is copied to as it goes on."""

    def plan(self, *, histograms: bool) -> ConfiguredPlan:
        """Return the plan that saves what is configured."""

    def stored_collections(self, num_workers: int) -> Mapping[str, object]:
        """Return the collections as the collections file of a run notes them."""


class OutputOptions(TypedDict, total=False):
    """The fields of ``Output`` that the constructor of a hook takes by their names."""

    format: str
    tensorboard: str | None
    black_box_mb: int
    snapshot_every: int
    mirror: str | None
    resume: int | None
    budget: float | None


@dataclass(frozen=True, slots=True)
class Output:
    """In which format a run is written, and what beside it.

    Args:
        format: How the run is laid out: ``native``, or ``smdebug`` for what reads only that.
        tensorboard: Folder or URL for TensorBoard's files, scalars and histograms of what is
            saved raw; ``None`` for none.
        hook_config: What to save, as SageMaker Debugger configures it, instead of a policy.
        over_unfinished: Whether the target may hold what a run left that never ended.
        black_box_mb: Size in MiB of the black box, which holds the last steps where no death of
            the process reaches them; 0 for none.
        snapshot_every: The black box keeps the state before every n-th TRAIN step, from which a
            step can be run again; 0 for only when something goes wrong.
        mirror: Folder or URL to which the run is copied as it goes on; by default what the hook
            configuration says, or none.
        resume: The TRAIN step, counted from 0, at which the run that lies there is resumed: what
            was stored of it and of all that follow is replaced. ``None`` for a new run.
        budget: How much longer the training may take, relative to its own time, such as 0.03:
            where observing takes more, most steps are observed by their losses only; see
            ``capture.budget``. ``None`` for no limit.
        companion: Whether rules, writers and the mirror work in a process of their own, where
            that can be; see ``capture.companion``.
    """

    format: str = "native"
    tensorboard: str | None = None
    hook_config: SaveConfig | None = None
    over_unfinished: bool = False
    black_box_mb: int = 0
    snapshot_every: int = 0
    mirror: str | None = None
    resume: int | None = None
    budget: float | None = None
    companion: bool = False

    def __post_init__(self) -> None:
        for what, value in (
            ("black_box_mb", self.black_box_mb),
            ("every", self.snapshot_every),
            ("resume", self.resume),
        ):
            if value is not None and value < 0:
                raise ConfigError(f"{what} must not be negative, got {value}")
        if self.budget is not None and not 0 < self.budget <= 1:
            raise ConfigError(f"budget must be above 0 and at most 1, got {self.budget}")
        if self.snapshot_every and not self.black_box_mb:
            raise ConfigError("snapshots are kept in the black box, and that is off")

    def warn_of_unstored(self, requested: Sequence[Collection]) -> None:
        """Warn of what was requested and cannot be held by the format."""
        kinds = {"digests": "digest", "exponents": "exponents"}
        lost = [
            f"{what} of {one.name}"
            for one in requested
            for what, kind in kinds.items()
            if getattr(one.policy, kind) is not None
        ]
        if self.format == "smdebug" and lost:
            _log.warning(
                "smdebug's format has no place for %s: rules see them, and they are not stored",
                ", ".join(dict.fromkeys(lost)),
            )

    def num_workers(self, size: int) -> int:
        """Return how many of ``size`` processes write."""
        alone = self.hook_config is not None and not self.hook_config.all_workers
        return 1 if alone else size

    def configured_plan(self) -> ConfiguredPlan | None:
        """Return the plan of the hook configuration, if there is one."""
        if self.hook_config is None:
            return None
        return self.hook_config.plan(histograms=self.tensorboard is not None)

    def debugger_collections(self, size: int) -> Mapping[str, object]:
        """Return the collections for smdebug's file; empty without a hook configuration."""
        if self.hook_config is None:
            return {}
        return self.hook_config.stored_collections(self.num_workers(size))

    def open_mirror(
        self, store: Store, worker: str, *, is_first: bool, is_new: bool | None = None
    ) -> Mirror | NoMirror:
        """Return what copies a worker's part elsewhere, with the store to write to.

        Args:
            store: Where the run is written.
            worker: Whose part.
            is_first: Whether it is the first worker.
            is_new: Whether nothing of it was written before; by default as this output says.
        """
        url = self.mirror or (self.hook_config and self.hook_config.mirror)
        if not url:
            return NoMirror(store)
        if is_new is None:
            is_new = self.resume is None and not self.over_unfinished
        return Mirror(store, url, worker, is_first=is_first, is_new=is_new)

    def open_black_box(self, store: Store, worker: str, offer: Offer) -> BlackBox | None:
        """Return the black box of a worker, if it is wanted and can be made."""
        if not self.black_box_mb:
            return None
        return open_black_box(store, worker, self.black_box_mb * 2**20, offer, self.snapshot_every)

    def open_writers(self, target: RunTarget, plan: ConfiguredPlan | None) -> list[RunWriter]:
        """Return the writers; none in a dry run, or where only the first process writes."""
        return self._writers(target, plan, open_writer)

    def attach_writers(self, target: RunTarget, first_step: int) -> list[RunWriter]:
        """Return writers that go on with what another process opened, for a companion.

        Args:
            target: As it was opened.
            first_step: The first global step that comes; what is stored of later ones is removed.
        """
        return self._writers(target, None, partial(attach_writer, first_step=first_step))

    def _writers(
        self,
        target: RunTarget,
        plan: ConfiguredPlan | None,
        make: Callable[[RunTarget, Selection], RunWriter],
    ) -> list[RunWriter]:
        config = self.hook_config
        if config is not None and (config.dry_run or not (config.all_workers or target.is_first)):
            return []
        selection = Selection(plan.stored, plan.collections) if plan else Selection()
        boards: list[RunWriter] = []
        if self.tensorboard is not None:  # first: a wrong URL must not leave a run claimed
            shown = (plan.histogram, plan.scalar) if plan else ()
            boards.append(TensorBoardWriter(self.tensorboard, target.worker, *shown))
        return [make(target, selection), *boards]


#: What a hook writes unless it is given something else.
HOOK_OUTPUT = Output(black_box_mb=64)
