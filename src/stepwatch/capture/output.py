"""What a recorder writes, beside what it captures: in which format, and for whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ConfigError
from ..formats import Place, Selection, open_writer
from ..formats.smdebug.collections import collections_to_json
from ..formats.tensorboard import TensorBoardWriter
from ..formats.writer import RunWriter
from ..hook_config import HookConfig
from ..store import Store
from .black_box import BlackBox, Offer, open_black_box
from .debugger_plan import DebuggerPlan


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
    """

    format: str = "native"
    tensorboard: str | None = None
    hook_config: HookConfig | None = None
    over_unfinished: bool = False
    black_box_mb: int = 0
    snapshot_every: int = 0

    def __post_init__(self) -> None:
        for what, value in (("black_box_mb", self.black_box_mb), ("every", self.snapshot_every)):
            if value < 0:
                raise ConfigError(f"{what} must not be negative, got {value}")
        if self.snapshot_every and not self.black_box_mb:
            raise ConfigError("snapshots are kept in the black box, and that is off")

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
