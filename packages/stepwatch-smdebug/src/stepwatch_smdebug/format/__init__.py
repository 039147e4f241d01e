"""Writing runs as smdebug 1.0.34 does; an entry point of ``stepwatch.formats``."""

from __future__ import annotations

from stepwatch.formats import RunTarget, Selection
from stepwatch.formats.interface import RunWriter
from stepwatch.store import Store

from .run_files import claim_run, join_run, to_saved_collections
from .writer import SmdebugWriter, truncate


class SmdebugFormat:
    """Writes smdebug's format; see ``stepwatch.formats.Format``."""

    def open_writer(self, target: RunTarget, selection: Selection) -> RunWriter:
        """Claim or join a run, and return what writes to it."""
        manifest = target.manifest
        if target.start is None:
            begin = claim_run if target.is_first else join_run
            begin(target.store, target.worker, manifest, over_unfinished=target.over_unfinished)
        return SmdebugWriter(
            target.store,
            target.worker,
            num_workers=manifest.num_workers,
            stored_at=selection.stored_at,
            collections=selection.collections or to_saved_collections(manifest.collections),
            marks_end=target.marks_end,
            as_stored=selection.as_stored,
            collections_file=selection.collections_file,
        )

    def truncate(self, store: Store, worker: str, step: int) -> None:
        """Remove what a worker stored of a step and of all that follow."""
        truncate(store, worker, step)


SMDEBUG = SmdebugFormat()
