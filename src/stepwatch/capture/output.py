"""What a recorder writes, beside what it captures: in which format, and for whom."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..collection import Collection
from ..errors import ConfigError
from ..formats import Place, Selection, open_writer
from ..formats.smdebug.collections import collections_to_json
from ..formats.tensorboard import TensorBoardWriter
from ..formats.writer import RunWriter
from ..hook_config import HookConfig
from ..store import Store
from .black_box import BlackBox, Offer, open_black_box
from .debugger_plan import DebuggerPlan
from .mirror import Mirror, NoMirror

_log = logging.getLogger("stepwatch")


@dataclass(frozen=True, slots=True)
class Output:
    """In which format a run is written, and what beside it.

    Args:
        format: ``native`` or ``smdebug``.
        tensorboard: Folder or URL for TensorBoard's files; ``None`` for none.
        hook_config: What to save in smdebug's words; it then stands instead of a policy.
        over_unfinished: Whether the place may hold what a run left that never ended.
        black_box_mb: Size of the black box in MiB; 0 for none.
        snapshot_every: The black box keeps the state before each so many TRAIN steps; 0 for none.
        mirror: Folder or URL to which the run is copied as it goes on; by default what the hook
            configuration says, or none.
        resume: The TRAIN step, counted from 0, at which a run that lies there is taken up again:
            what was stored of it and of all that follow is replaced. ``None`` for a new run.
    """

    format: str = "native"
    tensorboard: str | None = None
    hook_config: HookConfig | None = None
    over_unfinished: bool = False
    black_box_mb: int = 0
    snapshot_every: int = 0
    mirror: str | None = None
    resume: int | None = None

    def __post_init__(self) -> None:
        for what, value in (
            ("black_box_mb", self.black_box_mb),
            ("every", self.snapshot_every),
            ("resume", self.resume),
        ):
            if value is not None and value < 0:
                raise ConfigError(f"{what} must not be negative, got {value}")
        if self.snapshot_every and not self.black_box_mb:
            raise ConfigError("snapshots are kept in the black box, and that is off")

    def warn_of_unstored(self, asked: Sequence[Collection]) -> None:
        """Say what was asked for that the format has no place for."""
        kinds = {"digests": "digest", "exponents": "exponents"}
        lost = [
            f"{what} of {one.name}"
            for one in asked
            for what, kind in kinds.items()
            if getattr(one.policy, kind) is not None
        ]
        if self.format == "smdebug" and lost:
            _log.warning(
                "smdebug's format has no place for %s: rules see them, and they are not stored",
                ", ".join(dict.fromkeys(lost)),
            )

    def num_workers(self, size: int) -> int:
        """Return how many of so many processes write."""
        alone = self.hook_config is not None and not self.hook_config.all_workers
        return 1 if alone else size

    def debugger_plan(self) -> DebuggerPlan | None:
        """Return the plan that the hook configuration asks for, if there is one."""
        if self.hook_config is None:
            return None
        return DebuggerPlan(self.hook_config, histograms=self.tensorboard is not None)

    def debugger_collections(self, size: int) -> Mapping[str, object]:
        """Return the collections as smdebug notes them; empty without a hook configuration."""
        if self.hook_config is None:
            return {}
        return collections_to_json(self.hook_config.collections, {}, self.num_workers(size))

    def open_mirror(self, store: Store, worker: str, *, is_first: bool) -> Mirror | NoMirror:
        """Return what copies what a worker stores, and the store to write to."""
        url = self.mirror or (self.hook_config and self.hook_config.mirror)
        if not url:
            return NoMirror(store)
        is_new = self.resume is None and not self.over_unfinished
        return Mirror(store, url, worker, is_first=is_first, is_new=is_new)

    def open_black_box(self, store: Store, worker: str, offer: Offer) -> BlackBox | None:
        """Return the black box of a worker, if it is wanted and can be had."""
        if not self.black_box_mb:
            return None
        return open_black_box(store, worker, self.black_box_mb * 2**20, offer, self.snapshot_every)

    def open_writers(self, place: Place, plan: DebuggerPlan | None) -> list[RunWriter]:
        """Return what writes; nothing in a dry run, or where only the first process writes."""
        config = self.hook_config
        if config is not None and (config.dry_run or not (config.all_workers or place.is_first)):
            return []
        selection = Selection(plan.stored, plan.collections) if plan else Selection()
        boards: list[RunWriter] = []
        if self.tensorboard is not None:  # first: a wrong URL must not leave a place claimed
            shown = (plan.histogram, plan.scalar) if plan else ()
            boards.append(TensorBoardWriter(self.tensorboard, place.worker, *shown))
        return [open_writer(place, selection), *boards]
