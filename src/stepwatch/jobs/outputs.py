"""Where the results of a job go, beside its folder."""

from __future__ import annotations

import tarfile
from pathlib import Path
from tempfile import TemporaryFile

from ..formats.copying import RunCopy
from ..store import Store, open_store, put_parts
from ..store.pieces import pieces_of_file
from .place import Place
from .spec import JobSpec


def upload(spec: JobSpec, place: Place) -> None:
    """Put what was made where the job wants it, too.

    Raises:
        StoreError: It is refused there.
    """
    if spec.output_url:
        store = open_store(spec.output_url)
        for archive, folder in (("model", place.model), ("output", place.output_data)):
            _put_archive(store, f"output/{archive}.tar.gz", folder)
        _put_files(place.root / "rule-output", f"{spec.output_url}/rule-output")
    if spec.tensorboard_url:
        _put_files(place.tensorboard, spec.tensorboard_url)
    if spec.profile_url:
        _put_files(place.tensors / "profile", f"{spec.profile_url}/profile")
    if spec.checkpoints:
        _put_files(place.checkpoints, spec.checkpoints)
    if spec.copy_url and place.tensors.is_dir():  # what could not be copied while it trained
        RunCopy(open_store(place.tensors), open_store(spec.copy_url)).advance()


def _put_archive(store: Store, key: str, folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    with TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)
        put_parts(store, key, pieces_of_file(file))


def _put_files(folder: Path, url: str) -> None:
    """Put all files of a folder below a URL."""
    store = open_store(url)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                put_parts(store, path.relative_to(folder).as_posix(), pieces_of_file(file))
