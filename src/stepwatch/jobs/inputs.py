"""What a job needs before it begins: its source, its channels, its checkpoints."""

from __future__ import annotations

import tarfile
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from ..errors import ConfigError
from ..parallel import map_parallel
from ..store import Store, check_key, open_store, scheme_of
from ..store.pieces import pieces_of_value
from .place import Place
from .spec import JobSpec

ARCHIVES = (".tar.gz", ".tgz", ".tar")
_THREADS = 8
# More than any source has; an archive of a few bytes can be unpacked to fill a disk.
_MOST_MEMBERS, _MOST_BYTES = 100_000, 8 << 30


def fetch(spec: JobSpec, place: Place) -> None:
    """Bring all that is elsewhere into the folder of a job.

    Raises:
        ConfigError: Something is not there, or is not what it should be.
        StoreError: It cannot be read.
    """
    if spec.source:
        fetch_source(spec.source, place.code)
        if not (place.code / spec.script).is_file():
            raise ConfigError(f"there is no {spec.script} in {spec.source}")
    for channel, url in spec.inputs.items():
        target = place.root / "input" / "data" / channel
        if scheme_of(url):
            copy_files(url, target)
        else:
            _link(Path(url).resolve(), target)
    if spec.checkpoints:
        copy_files(spec.checkpoints, place.checkpoints, may_be_empty=True)


def fetch_source(url: str, folder: Path) -> None:
    """Bring an archive, unpacked, or a folder into a folder."""
    if not url.endswith(ARCHIVES):
        copy_files(url, folder)
        return
    store, name = _opened(url)
    with TemporaryFile() as file:
        _copy(store, name, file, url)
        file.seek(0)
        unpack(file, folder, url)


def unpack(file: IO[bytes], folder: Path, url: str) -> None:
    """Unpack an archive; nothing of it comes to lie outside of the folder.

    Raises:
        ConfigError: It is none, or holds what would, or far too much.
    """
    try:
        with tarfile.open(fileobj=file) as archive:
            num_bytes = 0
            for number, member in enumerate(archive):
                num_bytes += member.size
                if number >= _MOST_MEMBERS or num_bytes > _MOST_BYTES:
                    raise ConfigError(
                        f"{url} holds more than {_MOST_MEMBERS:,} files or"
                        f" {_MOST_BYTES >> 30} GiB; a source has no data"
                    )
                archive.extract(member, folder, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ConfigError(f"{url} cannot be unpacked: {error}") from None


def copy_files(url: str, folder: Path, *, may_be_empty: bool = False) -> None:
    """Bring one file, or all below a folder, into a folder.

    Raises:
        ConfigError: There is nothing, or something has a name that leads out of the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store, name = _opened(url)
    below = f"{name}/" if name else ""
    # What lies at the URL itself, or below it; not what only begins like it.
    keys = [key for key in store.list(name) if key == name or key.startswith(below)]
    found = {key: name if key == name else key[len(below) :] for key in keys}
    for path in found.values():
        check_key(path)
    if not found and not may_be_empty:
        raise ConfigError(f"there is nothing at {url}")
    map_parallel(lambda key: _write(store, key, folder / found[key], url), found, threads=_THREADS)


def _link(source: Path, target: Path) -> None:
    """Show what lies here as a channel, which is a folder."""
    if source.is_file():
        target.mkdir(exist_ok=True)
        target /= source.name
    if not target.is_symlink():
        target.symlink_to(source, target_is_directory=source.is_dir())


def _opened(url: str) -> tuple[Store, str]:
    """Return the store of what is above a URL, and the name there; no name for a container."""
    above, _, name = url.rstrip("/").rpartition("/")
    if above.endswith(":/"):
        return open_store(url), ""
    return open_store(above), name


def _write(store: Store, key: str, path: Path, url: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        _copy(store, key, file, url)


def _copy(store: Store, key: str, file: IO[bytes], url: str) -> None:
    try:
        for piece in pieces_of_value(store, key, store.size(key)):
            file.write(piece)
    except FileNotFoundError:
        raise ConfigError(f"there is nothing at {url}") from None
