"""What a job fetches before it begins, notes in its run at the end, and copies elsewhere."""

from __future__ import annotations

import os
import shutil
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from ..errors import ConfigError, RunNotFound, StoreError
from ..formats import open_reader, run_format
from ..formats.copying import RunCopy
from ..formats.manifest import End, end_key
from ..formats.smdebug.layout import END_KEY
from ..runtime.background import Background
from ..runtime.parallel import map_parallel
from ..store import (
    Store,
    check_key,
    open_store,
    pieces_of_file,
    pieces_of_value,
    put_parts,
    scheme_of,
)
from ..store.local import LocalStore
from ..trial import Trial
from .paths import JobPaths
from .spec import JobSpec


def record_ends(paths: JobPaths, spec: JobSpec, why: str) -> None:
    """Note of each worker that left no note that it was stopped, and why."""
    store = open_store(paths.tensors)
    try:
        num_steps = len(Trial(store).steps())
    except RunNotFound:
        return
    for rank in range(spec.processes):
        key = end_key(f"worker_{rank}")
        if not store.list(key):
            store.put(key, End("stopped", time.time_ns(), num_steps, error=why).to_json())


def mark_end(paths: JobPaths, spec: JobSpec) -> None:
    """Mark that training has ended, as SageMaker does and its hooks then leave to it.

    Also where nothing was saved: a reader may wait for the first step.
    """
    store = open_store(paths.tensors)
    if spec.hook is not None and run_format(store) != "native" and not store.list(END_KEY):
        store.put(END_KEY, b"")


def num_resumes(run: str | os.PathLike[str]) -> int:
    """Return how often a run was resumed; -1 if there is none."""
    try:
        return len(open_reader(open_store(run)).manifest.resumes)
    except RunNotFound:
        return -1


_State = tuple[int, int]


class FolderCopy:
    """Copies the files of a folder as they come.

    Args:
        folder: It need not be there yet.
        url: Where the copy lies.
        is_ours: Whether we write there: then a file is good at any moment, and one that is deleted
            is deleted there, too. What a script writes is copied once it stays as it is, and kept.

    Raises:
        ConfigError: No store is installed for the URL.
    """

    def __init__(self, folder: Path, url: str, *, is_ours: bool = False) -> None:
        self._folder, self._target, self._is_ours = folder, open_store(url), is_ours
        self._last: dict[str, _State] = {}
        self._copied: dict[str, _State] = {}

    def advance(self, *, at_end: bool = False) -> None:
        """Copy what is new or has changed.

        Args:
            at_end: Nobody writes any more.

        Raises:
            StoreError: The store refuses it.
        """
        before, self._last = self._last, self._states()
        for key, state in self._last.items():
            is_good = self._is_ours or at_end or before.get(key) == state
            if is_good and self._copied.get(key) != state:
                self._put(key)
                self._copied[key] = state
        for key in self._copied.keys() - self._last.keys() if self._is_ours else ():
            self._target.delete(key)
            del self._copied[key]

    def _states(self) -> dict[str, _State]:
        """Return size and time of each file."""
        found = dict[str, _State]()
        for key in LocalStore(self._folder).list():
            with suppress(FileNotFoundError):  # deleted meanwhile
                status = os.stat(self._folder / key)
                found[key] = status.st_size, status.st_mtime_ns
        return found

    def _put(self, key: str) -> None:
        with suppress(FileNotFoundError), (self._folder / key).open("rb") as file:
            put_parts(self._target, key, pieces_of_file(file))


ARCHIVES = (".tar.gz", ".tgz", ".tar")
_THREADS = 8
# More than any source has; an archive of a few bytes can be unpacked to fill a disk.
_MOST_MEMBERS, _MOST_BYTES = 100_000, 8 << 30


# Headers that hold a name or the like, which is read into memory as a whole.
_LONG = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_MOST_HEADER_BYTES = 1 << 20


class _Member(tarfile.TarInfo):
    """A member of an archive, whose name takes no memory to speak of."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _LONG and member.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a name of {member.size:,} bytes")
        return member


def fetch(spec: JobSpec, paths: JobPaths) -> None:
    """Bring all that a job needs into its folder.

    Raises:
        ConfigError: Something is not there, or is not what it should be.
        StoreError: It cannot be read.
    """
    if spec.source:
        fetch_source(spec.source, paths.code)
        if not (paths.code / spec.script).is_file():
            raise ConfigError(f"there is no {spec.script} in {spec.source}")
    for channel, url in spec.inputs.items():
        target = paths.root / "input" / "data" / channel
        if scheme_of(url):
            copy_files(url, target)
        else:
            _link(Path(url).resolve(), target)
    if spec.checkpoints:
        copy_files(spec.checkpoints, paths.checkpoints, may_be_empty=True)


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
        with tarfile.open(fileobj=file, tarinfo=_Member) as archive:
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


_EVERY_S = 5.0
# Copying rests so many times as long as it took: one file may grow for days.
_REST = 9
_LAST_WAIT_S = 3600.0


class Outputs:
    """Copies what a job makes to its outputs; the training itself mirrors its run.

    Raises:
        ConfigError: There is no store for one of them.
    """

    def __init__(self, spec: JobSpec, paths: JobPaths) -> None:
        self._spec, self._paths = spec, paths
        self._folders = [
            FolderCopy(folder, url, is_ours=is_ours)
            for folder, url, is_ours in (
                (paths.checkpoints, spec.checkpoints, False),
                (paths.tensorboard, spec.tensorboard_url, True),
                (
                    paths.tensors / "profile",
                    spec.profile_url and f"{spec.profile_url}/profile",
                    True,
                ),
                (paths.rules, spec.output_url and f"{spec.output_url}/rule-output", False),
            )
            if url
        ]
        self._again_at, self._is_late = 0.0, False
        self._background = Background(_nothing, tick=self._tick, tick_s=_EVERY_S)

    def begin_anew(self) -> None:
        """Remove what an attempt left of which nothing counts any more, here and in its copy."""
        shutil.rmtree(self._paths.tensors, ignore_errors=True)
        if self._spec.copy_url:
            copy = open_store(self._spec.copy_url)
            for key in copy.list():
                copy.delete(key)

    def finish(self) -> None:
        """Copy all that is not copied yet.

        Raises:
            StoreError: The store refuses it.
        """
        spec, paths = self._spec, self._paths
        self._background.close(_LAST_WAIT_S)
        if spec.output_url:
            store = open_store(spec.output_url)
            for archive, folder in (("model", paths.model), ("output", paths.output_data)):
                _put_archive(store, f"output/{archive}.tar.gz", folder)
        for copy in self._folders:
            copy.advance(at_end=True)
        if spec.copy_url and paths.tensors.is_dir():  # what could not be copied while it trained
            RunCopy(open_store(paths.tensors), open_store(spec.copy_url)).advance()

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
