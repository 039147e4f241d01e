"""Where the results of a job go, beside its folder: some as they come, all in the end."""

from __future__ import annotations

import shutil
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryFile

from ..background import Background
from ..errors import StoreError
from ..formats.copying import RunCopy
from ..store import Store, open_store, put_parts
from ..store.pieces import pieces_of_file
from .folder_copy import FolderCopy
from .place import Place
from .spec import JobSpec

_EVERY_S = 5.0
# So many times as long as it took to copy, nothing is copied: one file may grow for days.
_REST = 9
_LAST_WAIT_S = 3600.0


class Outputs:
    """Copies what a job makes to where it wants it, too; the training itself mirrors its run.

    Args:
        spec: The job.
        place: Its folder.

    Raises:
        ConfigError: There is no store for a place.
    """

    def __init__(self, spec: JobSpec, place: Place) -> None:
        self._spec, self._place = spec, place
        self._folders = [
            FolderCopy(folder, url, is_ours=is_ours)
            for folder, url, is_ours in (
                (place.checkpoints, spec.checkpoints, False),
                (place.tensorboard, spec.tensorboard_url, True),
                (
                    place.tensors / "profile",
                    spec.profile_url and f"{spec.profile_url}/profile",
                    True,
                ),
                (place.rules, spec.output_url and f"{spec.output_url}/rule-output", False),
            )
            if url
        ]
        self._again_at, self._is_late = 0.0, False
        self._background = Background(_nothing, tick=self._tick, tick_s=_EVERY_S)

    def begin_anew(self) -> None:
        """Remove what an attempt left of which nothing counts any more, here and in its copy."""
        shutil.rmtree(self._place.tensors, ignore_errors=True)
        if self._spec.copy_url:
            copy = open_store(self._spec.copy_url)
            for key in copy.list():
                copy.delete(key)

    def finish(self) -> None:
        """Copy all that is not copied yet.

        Raises:
            StoreError: It is refused there.
        """
        spec, place = self._spec, self._place
        self._background.close(_LAST_WAIT_S)
        if spec.output_url:
            store = open_store(spec.output_url)
            for archive, folder in (("model", place.model), ("output", place.output_data)):
                _put_archive(store, f"output/{archive}.tar.gz", folder)
        for copy in self._folders:
            copy.advance(at_end=True)
        if spec.copy_url and place.tensors.is_dir():  # what could not be copied while it trained
            RunCopy(open_store(place.tensors), open_store(spec.copy_url)).advance()

    def _tick(self) -> None:
        begun = time.monotonic()
        if begun < self._again_at:
            return
        try:
            for copy in self._folders:
                copy.advance()
            self._is_late = False
        except StoreError as error:
            if not self._is_late:
                print(f"what it makes is copied late: {error}", flush=True)
            self._is_late = True
        self._again_at = time.monotonic() + _REST * (time.monotonic() - begun)


def _put_archive(store: Store, key: str, folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    with TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)
        put_parts(store, key, pieces_of_file(file))


def _nothing(_: None) -> None:
    """There is no work but what is due at each tick."""
